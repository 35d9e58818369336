// SPDX-License-Identifier: Apache-2.0
#include "labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/index.h"

namespace tilefuse::tool {

std::vector<std::string> parse_labels(std::string_view text) {
  std::vector<std::string> labels;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    labels.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!labels.empty() && labels.back().empty())
    labels.pop_back();
  return labels;
}

std::string label_of(std::int64_t index, const std::vector<std::string> &labels) {
  return labels.empty() ? fmt::format("class {}", index) : labels[at(index)];
}

std::int64_t class_count(const program::Shape &shape) {
  std::int64_t classes = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    if (classes != 1)
      return 0;
    classes = shape[d];
  }
  return shape.size() >= 2 ? classes : 0;
}

std::vector<Ranked> top(const program::HostTensor &tensor, std::int64_t begin, std::int64_t classes,
                        int count) {
  std::vector<Ranked> all;
  for (std::int64_t i = 0; i < classes; ++i)
    all.push_back({i, program::get(tensor, begin + i)});
  const auto better = [](const Ranked &a, const Ranked &b) {
    if (std::isnan(a.value) != std::isnan(b.value))
      return std::isnan(b.value);
    return a.value != b.value && !std::isnan(a.value) ? a.value > b.value : a.index < b.index;
  };
  const auto kept = std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(all.size()));
  std::partial_sort(all.begin(), all.begin() + kept, all.end(), better);
  all.resize(static_cast<std::size_t>(kept));
  return all;
}

} // namespace tilefuse::tool
