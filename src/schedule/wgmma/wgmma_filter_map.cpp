// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_filter_map.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/staging.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

// Elements that the reduced indices move an input's start by, and how far.
struct Reach {
  nest::Linear flat;
  std::int64_t elems = 1;
};

Reach reach_of(const Nest &nest, const Source &source, const std::vector<IndexId> &indices) {
  Reach reach{.flat = {source.offset, std::vector<std::int64_t>(nest.indices.size(), 0)}};
  for (const nest::Dim &dim : source.dims) {
    reach.flat.constant += dim.at.constant * dim.stride;
    for (std::size_t i = 0; i < reach.flat.coeff.size(); ++i)
      reach.flat.coeff[i] += dim.at.coeff[i] * dim.stride;
  }
  for (const IndexId i : indices)
    reach.elems += reach.flat.coeff[at(i)] * (extent(nest, i) - 1);
  return reach;
}

// How rows of a tile are dealt: digits of a row's number, fastest first, and how many channels
// apart.
using Digits = std::vector<std::pair<std::int64_t, std::int64_t>>;
Digits digits_of(const Schedule &schedule, std::int64_t vec) {
  if (schedule.core.swap_ab)
    return vec == 1 ? Digits{} : Digits{{8, vec}, {vec, 1}};
  return vec == 2 ? Digits{} : Digits{{2, 1}, {4, vec}, {vec / 2, 2}};
}

void deal(FilterMap &map, std::int64_t channels, std::int64_t stride, const Digits &digits,
          std::int64_t columns) {
  for (const auto &[count, apart] : digits) {
    map.unit *= count;
    map.dims.push_back(count);
    map.strides.push_back(apart * stride);
    map.box.push_back(count);
  }
  map.dims.push_back(channels / map.unit);
  map.strides.push_back(map.unit * stride);
  map.box.push_back(columns / map.unit);
}

// The index that is no digit of a number of rows of the filter, as channels, parts of them and
// blocks of the depth have to be.
std::optional<IndexId> unnumbered(const Nest &nest, const CoreRoles &roles,
                                  const nest::Linear &flat) {
  const std::int64_t across = flat.coeff[at(roles.channel)];
  std::int64_t apart = across;
  for (auto i = roles.channels.rbegin(); i != roles.channels.rend(); ++i) {
    if (flat.coeff[at(*i)] != apart)
      return *i;
    apart *= extent(nest, *i);
  }
  for (const IndexId part : roles.grid)
    if (flat.coeff[at(part)] % across != 0 || roles.filter_turned)
      return part;
  if (roles.has_blocks() && flat.coeff[at(roles.depths[0])] !=
                                extent(nest, roles.depth()) * flat.coeff[at(roles.depth())])
    return roles.depths[0];
  return {};
}

} // namespace

FilterMap filter_map(const Gemm &gemm) {
  const bool packed = is_packed(gemm.schedule.fills[at(gemm.roles.filter)]);
  const std::int64_t sharers = gemm.schedule.tiles.cluster_m;
  Reach reach = reach_of(gemm.nest, source_of(gemm.nest, gemm.schedule, gemm.roles.filter),
                         gemm.roles.walked);
  if (reach.flat.coeff[gemm.roles.channel] == 0)
    return {{.wrong = no_walk(gemm.nest, gemm.roles.channel, "filter")}};
  FilterMap map{{.offset = reach.flat.constant}, reach.flat};
  map.first.constant = 0;
  map.parts = {.coeff = std::vector<std::int64_t>(gemm.nest.indices.size(), 0)};
  std::int64_t channels = gemm.roles.channel_points;
  const std::int64_t across = reach.flat.coeff[at(gemm.roles.channel)];
  const std::int64_t down = reach.flat.coeff[at(gemm.roles.depth())];
  const std::int64_t length =
      reach.elems - 1 + (gemm.roles.filter_turned ? channels : gemm.roles.depth_points);
  if (const std::optional<IndexId> index = unnumbered(gemm.nest, gemm.roles, reach.flat))
    map.wrong = no_walk(gemm.nest, *index, "filter");
  for (const IndexId part : gemm.roles.grid) {
    const std::int64_t apart = std::exchange(map.first.coeff[at(part)], 0) / across;
    map.parts.coeff[at(part)] = apart;
    channels += apart * (extent(gemm.nest, part) - 1);
  }
  for (const IndexId i : gemm.roles.walked)
    if (std::string wrong = misaligned(reach.flat.coeff[at(i)], gemm.tile.elem_bytes, "filter");
        !wrong.empty())
      map.wrong = std::move(wrong);
  map.dims = {length};
  map.strides = {1};
  if (gemm.roles.filter_turned) {
    map.first.coeff[at(gemm.roles.depth())] = 0;
    map.panels = gemm.tile.columns * gemm.tile.elem_bytes / kPanelBytes;
    map.box = {kPanelBytes / gemm.tile.elem_bytes, gemm.tile.depth / sharers};
    map.dims.push_back(gemm.roles.depth_points);
    map.strides.push_back(down);
  } else {
    for (const IndexId i : gemm.roles.channels)
      map.first.coeff[at(i)] = 0;
    map.box = {gemm.tile.depth};
    deal(map, channels, across,
         digits_of(gemm.schedule, gemm.schedule.splits[at(gemm.roles.channel)].vec),
         gemm.tile.columns / sharers);
    for (const IndexId part : gemm.roles.grid)
      if (map.parts.coeff[at(part)] % map.unit != 0)
        map.wrong = fmt::format("parts of {} channels are not dealt by {}",
                                map.parts.coeff[at(part)], map.unit);
    // What follows the depth of a tap is the next tap, which zeros of the data do not always undo.
    if (reach.elems > 1 && !packed && map.wrong.empty())
      map.wrong = overrun(gemm.roles.depth_points, gemm.tile.depth);
  }
  if (map.wrong.empty())
    map.wrong = beyond_limits(map);
  if (map.wrong.empty())
    map.wrong = misaligned(map.strides, map.offset, gemm.tile.elem_bytes, "filter");
  std::int64_t last = map.offset;
  for (std::size_t i = 0; i < map.dims.size(); ++i)
    last += (map.dims[i] - 1) * map.strides[i];
  const std::int64_t elems =
      packed ? pack_layout(gemm.nest, gemm.schedule, gemm.roles.filter).elems
             : gemm.nest.slots[gemm.nest.inputs[at(gemm.roles.filter)].slot].elems;
  if (map.wrong.empty() && last >= elems)
    map.wrong = no_walk(gemm.nest, gemm.roles.channel, "filter");
  return map;
}

} // namespace tilefuse::schedule
