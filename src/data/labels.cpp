// SPDX-License-Identifier: Apache-2.0
#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace tilefuse::data {

int count_classes(std::span<const std::int32_t> labels, int classes, const std::string &file) {
  const int end = classes > 0 ? classes : std::numeric_limits<std::int32_t>::max();
  std::int32_t most = -1;
  for (std::size_t number = 0; number < labels.size(); ++number) {
    const std::int32_t label = labels[number];
    if (label < 0 || label >= end)
      throw Error(ErrorCode::Shape,
                  fmt::format("picture {} has label {}, need 0 to {}", number, label, end - 1),
                  file);
    most = std::max(most, label);
  }
  return most + 1;
}

} // namespace tilefuse::data
