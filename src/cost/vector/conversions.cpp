// SPDX-License-Identifier: Apache-2.0
#include "cost/vector/conversions.h"

#include "target/dtype_traits.h"

namespace tilefuse::cost {

Conversion conversion(DType stored) {
  if (stored == DType::F16) // to a vector register, to float, to all lanes: three instructions
    return {.neighbours = 0.5, .spread = 1, .stored = 1};
  if (stored == DType::BF16) // shifted; rounded in whole numbers, with care for what is no number
    return {.neighbours = 0.5, .spread = 1, .stored = 4};
  return is_narrow(stored) ? Conversion{.neighbours = 1, .spread = 1, .stored = 0} : Conversion{};
}

} // namespace tilefuse::cost
