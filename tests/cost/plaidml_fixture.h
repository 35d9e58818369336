// SPDX-License-Identifier: Apache-2.0
// Kernels of PlaidML's cost model from Tile texts, and the hardware settings the tests use.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cost/plaidml/plaidml_kernels.h"
#include "tile/tile.h"

namespace tilefuse::test {

inline constexpr cost::plaidml::Settings kTestGpu = {.threads = 256,
                                                     .mem_width = 32,
                                                     .max_mem = 18432,
                                                     .max_regs = 18432,
                                                     .goal_groups = 20,
                                                     .goal_flops_per_byte = 20};
inline constexpr cost::plaidml::Settings kAmd = {.threads = 256,
                                                 .mem_width = 128,
                                                 .max_mem = 32768,
                                                 .max_regs = 16384,
                                                 .goal_groups = 16,
                                                 .goal_flops_per_byte = 50};

using Shapes = std::map<std::string, program::Shape>;

// All tensors are of type `type`.
inline std::vector<cost::plaidml::Kernel> kernels_of(const std::string &text, const Shapes &shapes,
                                                     DType type = DType::F32) {
  std::map<std::string, std::pair<DType, program::Shape>> tensors;
  for (const auto &[name, shape] : shapes)
    tensors[name] = {type, shape};
  return cost::plaidml::kernels(tile::to_program(text, "test", tensors, {}));
}

// The article's function.
inline cost::plaidml::Kernel article_kernel() {
  return kernels_of("function conv_relu(D[N, X, Y, CI], K[I, J, CO, CI]) -> (R) {\n"
                    "  O[n, x, y, co : N, X, Y, CO] =\n"
                    "      +(D[n, x + i - 1, y + j - 1, ci] * K[i, j, co, ci]);\n"
                    "  R = (O > 0 ? O : 0);\n"
                    "}\n",
                    {{"D", {32, 224, 224, 64}}, {"K", {3, 3, 64, 64}}})
      .at(0);
}

// A kernel of f32 tensors, the result first, by strides; more than one tensor makes a contraction.
inline cost::plaidml::Flat flat_of(const std::vector<std::int64_t> &ranges,
                                   const std::vector<std::vector<std::int64_t>> &strides) {
  cost::plaidml::Flat flat;
  flat.ranges = ranges;
  flat.is_contraction = strides.size() > 1;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    flat.names.push_back(std::string(1, static_cast<char>('a' + i)));
  for (const std::vector<std::int64_t> &of_one : strides) {
    cost::plaidml::Access access;
    access.strides = of_one;
    access.size = 1;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      access.size += std::max<std::int64_t>(of_one[i], 0) * (ranges[i] - 1);
    flat.accesses.push_back(std::move(access));
  }
  return flat;
}

} // namespace tilefuse::test
