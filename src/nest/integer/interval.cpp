// SPDX-License-Identifier: Apache-2.0
#include "nest/integer/interval.h"

#include <algorithm>

#include "nest/integer/checked.h"

namespace tilefuse::nest {

Interval range_of(const Linear &form, std::span<const Index> indices) {
  Interval range{form.constant, form.constant};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t last = checked_mul(form.coeff[i], indices[i].extent - 1);
    range.lo = checked_add(range.lo, std::min<std::int64_t>(last, 0));
    range.hi = checked_add(range.hi, std::max<std::int64_t>(last, 0));
  }
  return range;
}

} // namespace tilefuse::nest
