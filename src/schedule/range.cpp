// SPDX-License-Identifier: Apache-2.0
#include "schedule/range.h"

#include <fmt/format.h>

namespace tilefuse::schedule {

std::optional<std::string> outside(const Range &range) {
  if (range.value >= range.least && range.value <= range.most)
    return {};
  return fmt::format("{} is {}; it needs {} to {}", range.what, range.value, range.least,
                     range.most);
}

} // namespace tilefuse::schedule
