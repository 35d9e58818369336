// SPDX-License-Identifier: Apache-2.0
#include "base/range.h"

#include <fmt/format.h>

namespace tilefuse {

std::optional<std::string> outside(const Range &range) {
  if (range.value >= range.least && range.value <= range.most && range.value % range.unit == 0)
    return {};
  return fmt::format("{} is {}; it needs {}{}{}", range.what, range.value, range.least,
                     range.most == kNoEnd ? " or more" : fmt::format(" to {}", range.most),
                     range.unit == 1 ? "" : fmt::format(", in units of {}", range.unit));
}

std::optional<std::string> outside(std::initializer_list<Range> ranges) {
  for (const Range &range : ranges)
    if (std::optional<std::string> reason = outside(range))
      return reason;
  return {};
}

} // namespace tilefuse
