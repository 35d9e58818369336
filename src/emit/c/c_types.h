// SPDX-License-Identifier: Apache-2.0
// Names of element types that the dialects of C share.
#pragma once

#include <string>

#include "target/dtype_traits.h"

namespace tilefuse::emit {

// In memory; of floats of 16 bits the bits.
inline std::string bits_elem(DType elem) { return std::string(traits(elem).c_bits); }

// As a value: truth values are int, floats of 16 bits are computed with in float.
inline std::string value_elem(DType elem) { return std::string(traits(elem).c_value); }

} // namespace tilefuse::emit
