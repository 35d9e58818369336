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

const nest::Dim *dim_of(const nest::Operand &operand, int index) {
  const auto found =
      std::find_if(operand.dims.begin(), operand.dims.end(),
                   [&](const nest::Dim &dim) { return dim.at.coeff[at(index)] != 0; });
  return found == operand.dims.end() ? nullptr : &*found;
}

std::int64_t blocks_apart(const nest::Dim &dim, std::int64_t block) { return dim.stride / block; }

int neighbour_of(const Nest &nest, const CoreRoles &roles) {
  const std::int64_t block = extent(nest, roles.depth());
  int nearest = -1;
  std::int64_t least = 0;
  for (int pixel : roles.pixels) {
    const nest::Dim *dim = dim_of(data_of(nest, roles), pixel);
    const std::int64_t moved = dim == nullptr ? 0 : dim->at.coeff[at(pixel)] * dim->stride;
    if (moved <= 0 || dim->stride % block != 0 || (nearest >= 0 && moved >= least))
      continue;
    nearest = pixel;
    least = moved;
  }
  return nearest;
}

bool in_panels(const CoreRoles &roles, const Schedule &schedule) {
  return roles.has_blocks() && !schedule.core.gathers;
}

bool in_rows(const CoreRoles &roles, const Schedule &schedule) {
  return in_panels(roles, schedule) && schedule.core.window == 0;
}

bool has_box(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  return in_rows(roles, schedule) ||
         std::any_of(roles.pixels.begin(), roles.pixels.end(),
                     [&](int i) { return schedule.splits[at(i)].tile > 1; });
}

PixelBox pixel_box(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  PixelBox box{.indices = roles.pixels};
  if (in_rows(roles, schedule))
    if (const auto first =
            std::find(box.indices.begin(), box.indices.end(), neighbour_of(nest, roles));
        first != box.indices.end())
      std::rotate(first, first + 1, box.indices.end());
  for (int i : box.indices)
    box.sizes.push_back(schedule.splits[at(i)].tile);
  return box;
}

RowBlocks row_blocks(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const int pixel = in_rows(roles, schedule) ? neighbour_of(nest, roles) : -1;
  if (pixel < 0)
    return {};
  const nest::Dim &dim = *dim_of(data_of(nest, roles), pixel);
  RowBlocks row{.used = schedule.splits[at(pixel)].tile,
                .step = dim.at.coeff[at(pixel)] * blocks_apart(dim, extent(nest, roles.depth()))};
  while (row.held < (row.used - 1) * row.step + 1)
    row.held *= 2;
  return row;
}

std::optional<nest::Linear> first_of_row(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const RowBlocks row = row_blocks(nest, schedule);
  if (row.used == 1 || row.step == 1)
    return {};
  const nest::Dim &dim = *dim_of(data_of(nest, roles), neighbour_of(nest, roles));
  if (blocks_apart(dim, extent(nest, roles.depth())) != 1)
    return {};
  nest::Linear first = dim.at;
  for (int pixel : roles.pixels)
    first.coeff[at(pixel)] = 0;
  std::int64_t least = first.constant;
  for (std::size_t i = 0; i < first.coeff.size(); ++i)
    least += std::min<std::int64_t>(0, first.coeff[i] * (nest.indices[i].extent - 1));
  first.constant += (std::abs(least) + row.step - 1) / row.step * row.step; // never below 0
  return first;
}

} // namespace tilefuse::schedule
