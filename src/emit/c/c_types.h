// SPDX-License-Identifier: Apache-2.0
// Names of element types that the dialects of C share.
#pragma once

#include <string>

#include "target/dtype.h"

namespace tilefuse::emit {

// In memory; of floats of 16 bits the bits.
inline std::string bits_elem(DType elem) {
  constexpr PerDType<const char *> names = {.boolean = "uchar",
                                            .i8 = "char",
                                            .u8 = "uchar",
                                            .i32 = "int",
                                            .i64 = "long",
                                            .f16 = "ushort",
                                            .bf16 = "ushort",
                                            .f32 = "float",
                                            .f64 = "double"};
  return names[elem];
}

// As a value: truth values are int, floats of 16 bits are computed with in float.
inline std::string value_elem(DType elem) {
  if (elem == DType::Bool)
    return "int";
  return elem == DType::F16 || elem == DType::BF16 ? "float" : bits_elem(elem);
}

} // namespace tilefuse::emit
