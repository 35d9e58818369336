// SPDX-License-Identifier: Apache-2.0
// The kernels of a convolution's gradient.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/compile.h"
#include "model/passes.h"
#include "poly/group.h"
#include "poly/post_ops.h"
#include "program/gradient/gradient.h"

namespace tilefuse::model {

struct GradientConv {
  int n = 1, h = 9, w = 7, c = 32, k = 32, r = 3, s = 3;
  int stride = 1, dilation = 1, pad = 1;
  std::string type = "f16";
};

enum class By { Input, Filter };

// Channels innermost, filter [k][r][s][c].
inline program::Program forward_program(const GradientConv &v) {
  const int p = (v.h + 2 * v.pad - v.dilation * (v.r - 1) - 1) / v.stride + 1;
  const int q = (v.w + 2 * v.pad - v.dilation * (v.s - 1) - 1) / v.stride + 1;
  return program::parse_program(fmt::format(
      "program \"conv\" {{\n  input %0 \"I\" : {0}[{1}, {2}, {3}, {4}]\n"
      "  input %1 \"K\" : {0}[{5}, {6}, {7}, {4}]\n"
      "  %2 \"T\" : {0}[{1}, {8}, {9}, {5}] = sum[n, y, x, m, r, s, c](%0[n, {10}*y + {11}*r - "
      "{12}, {10}*x + {11}*s - {12}, c] * %1[m, r, s, c]) -> [n, y, x, m] from \"test\"\n"
      "  output %2\n}}\n",
      v.type, v.n, v.h, v.w, v.c, v.k, v.r, v.s, p, q, v.stride, v.dilation, v.pad));
}

inline program::Program gradient_program(const GradientConv &v, By by) {
  const program::Program forward = forward_program(v);
  const auto at = static_cast<std::size_t>(by == By::Input ? 0 : 1);
  return simplify(program::gradient(forward, {.by = {forward.inputs[at]}}));
}

inline std::vector<poly::PlacedGroup> placed_gradients(const GradientConv &v, By by) {
  return poly::make_groups(program::assign_storage(gradient_program(v, by)));
}

inline std::vector<poly::Group> groups_of(const program::Program &program) {
  std::vector<poly::Group> groups;
  for (poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program)))
    groups.push_back(std::move(placed.group));
  return groups;
}

inline std::vector<poly::Group> gradients(const GradientConv &v, By by) {
  return groups_of(gradient_program(v, by));
}

} // namespace tilefuse::model
