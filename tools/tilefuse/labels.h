// SPDX-License-Identifier: Apache-2.0
// Names of classes, one per line, and the best classes of an output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/host_tensor.h"

namespace tilefuse::tool {

// Line k, from 0, names class k. Ends of line may be CR LF; empty lines at the end do not count.
std::vector<std::string> parse_labels(std::string_view text);

// The name of a class, or "class 7" where there are no labels.
std::string label_of(std::int64_t index, const std::vector<std::string> &labels);

struct Ranked {
  std::int64_t index = 0;
  double value = 0;
};

// Classes of one row of an output: how many there are when shape is [N, classes] with ones anywhere
// else, else 0.
std::int64_t class_count(const program::Shape &shape);
// The `count` largest of `classes` elements from `begin`, largest first, equal ones in order. NaN
// comes last.
std::vector<Ranked> top(const program::HostTensor &tensor, std::int64_t begin, std::int64_t classes,
                        int count);

} // namespace tilefuse::tool
