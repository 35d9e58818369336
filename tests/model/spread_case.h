// SPDX-License-Identifier: Apache-2.0
// First layers whose pixels a copy spreads: what tests of them share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "nest/fold/fold.h"
#include "poly/group.h"
#include "poly/post_ops.h"
#include "program/drop_dead.h"
#include "program/program.h"
#include "program/rewrite/first_layer.h"

namespace tilefuse::model {

struct FirstLayer {
  int n = 2, h = 16, w = 18, c = 3, k = 32, r = 3, s = 3;
  int stride = 1, dilation = 1, pad = 1;
  std::string from = "f32", type = "f16";
  bool has_channels_last = false;
};

// Pixels of one type, converted to another, times a filter of zeros that is a constant.
inline program::Program first_layer_of(const FirstLayer &v) {
  const int p = (v.h + 2 * v.pad - v.dilation * (v.r - 1) - 1) / v.stride + 1;
  const int q = (v.w + 2 * v.pad - v.dilation * (v.s - 1) - 1) / v.stride + 1;
  const auto pixels = [&](const auto &c, const auto &y, const auto &x) {
    return v.has_channels_last ? fmt::format("{}, {}, {}", y, x, c)
                               : fmt::format("{}, {}, {}", c, y, x);
  };
  const auto place = [&](const char *index, const char *tap) {
    return fmt::format("{}*{} + {}*{} - {}", v.stride, index, v.dilation, tap, v.pad);
  };
  const std::string shape = pixels(v.c, v.h, v.w);
  const bool converts = v.from != v.type;
  program::Program program = program::parse_program(fmt::format(
      "program \"conv\" {{\n  input %0 \"I\" : {0}[{1}, {2}]\n"
      "  input %1 \"K\" : {3}[{4}, {5}, {6}, {7}]\n{11}"
      "  %3 \"T\" : {3}[{1}, {8}, {9}, {4}] = sum[n, y, x, m, r, s, c](%{12}[n, {10}] * %1[m, c, "
      "r, s]) -> [n, y, x, m] from \"test\"\n  output %3\n}}\n",
      v.from, v.n, shape, v.type, v.k, v.c, v.r, v.s, p, q,
      pixels("c", place("y", "r"), place("x", "s")),
      converts ? fmt::format("  %2 \"J\" : {2}[{0}, {1}] = map[%0]({2}($0)) from \"cast\"\n", v.n,
                             shape, v.type)
               : "",
      converts ? 2 : 0));
  program::Tensor &filter = program[program.inputs.back()];
  filter.role = program::Role::Constant;
  filter.data = std::make_shared<const program::Bytes>(
      static_cast<std::size_t>(program::elems(filter.shape) * size_bytes(filter.type)));
  program.inputs.pop_back();
  return program;
}

inline bool takes_always(const program::Program &, const program::Program &) { return true; }

// In the other form, with its filter stored.
inline program::Program widened(const program::Program &program) {
  return program::drop_dead(
      nest::fold_constants(program::widen_first_layers(program, takes_always).program));
}

// The copy and the product as one group.
inline std::optional<poly::Group> spread(const FirstLayer &layer, std::string *why = nullptr) {
  const std::vector<poly::PlacedGroup> groups =
      poly::make_groups(program::assign_storage(widened(first_layer_of(layer))));
  EXPECT_EQ(groups.size(), 2U);
  const std::optional<poly::PlacedGroup> made =
      attach(groups.back(), poly::kAnchor, 0, groups.front(), why);
  return made ? std::optional(made->group) : std::nullopt;
}

} // namespace tilefuse::model
