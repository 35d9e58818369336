// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/pixel_box.h"

#include <algorithm>
#include <cstdlib>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core_roles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

const nest::Operand &data_of(const Nest &nest, const CoreRoles &roles) {
  return nest.inputs[at(roles.data)];
}

} // namespace

bool has_box(const Gemm &gemm) {
  return in_rows(gemm.roles, gemm.schedule) ||
         std::any_of(gemm.roles.pixels.begin(), gemm.roles.pixels.end(),
                     [&](IndexId i) { return gemm.schedule.splits[at(i)].tile > 1; });
}

PixelBox pixel_box(const Gemm &gemm) {
  PixelBox box{.indices = gemm.roles.pixels};
  if (in_rows(gemm.roles, gemm.schedule))
    if (const auto first =
            std::find(box.indices.begin(), box.indices.end(), neighbour_of(gemm.nest, gemm.roles));
        first != box.indices.end())
      std::rotate(first, first + 1, box.indices.end());
  for (const IndexId i : box.indices)
    box.sizes.push_back(gemm.schedule.splits[at(i)].tile);
  return box;
}

std::optional<nest::Linear> first_of_row(const Gemm &gemm) {
  const RowBlocks row = gemm.row;
  if (row.used == 1 || row.step == 1)
    return {};
  const nest::Dim &dim =
      *dim_of(data_of(gemm.nest, gemm.roles), neighbour_of(gemm.nest, gemm.roles).value());
  if (blocks_apart(dim, extent(gemm.nest, gemm.roles.depth())) != 1)
    return {};
  nest::Linear first = dim.at;
  for (const IndexId pixel : gemm.roles.pixels)
    first.coeff[at(pixel)] = 0;
  std::int64_t least = first.constant;
  for (std::size_t i = 0; i < first.coeff.size(); ++i)
    least += std::min<std::int64_t>(0, first.coeff[i] * (gemm.nest.indices[i].extent - 1));
  first.constant += (std::abs(least) + row.step - 1) / row.step * row.step; // never below 0
  return first;
}

} // namespace tilefuse::schedule
