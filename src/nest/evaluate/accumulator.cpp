// SPDX-License-Identifier: Apache-2.0
#include "nest/evaluate/accumulator.h"
#include "nest/index.h"

#include "nest/integer/checked.h"

namespace tilefuse::nest {

Linear accumulator_address(const Nest &nest) {
  Linear address = still(nest);
  std::int64_t stride = 1;
  for (auto i = static_cast<std::size_t>(nest.output_indices); i-- > 0;) {
    address.coeff[i] = stride;
    stride = checked_mul(stride, nest.indices[i].extent);
  }
  return address;
}

} // namespace tilefuse::nest
