// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_tensor_maps.h"

#include <utility>

#include "base/index.h"
#include "lower/wgmma/wgmma_map.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_boxes.h"
#include "schedule/wgmma/wgmma_filter_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;

namespace {

// Of a box of so many rows, where the map does not say which.
kernel::MapId declare(Context &cx, const schedule::CoreTile &tile, const RingSource &source,
                      const char *name, std::int64_t rows, std::int64_t row_bytes) {
  const schedule::DataMap &map = source.map;
  std::vector<std::int64_t> box{tile.row_bytes() / tile.elem_bytes, rows};
  if (!map.box.empty())
    box = map.box;
  else if (!map.is_im2col())
    box.resize(map.dims.size(), 1);
  return cx.build.tensor_map({.name = name + source.suffix,
                              .tensor = source.tensor,
                              .offset = map.offset,
                              .dims = map.dims,
                              .strides = map.strides,
                              .box = std::move(box),
                              .lower = map.lower,
                              .upper = map.upper,
                              .steps = map.steps,
                              .swizzle = static_cast<int>(row_bytes)});
}

std::vector<RingSource> copied_data(const Context &cx, const WgmmaParts &parts) {
  return has_loading_warps(cx.schedule)
             ? std::vector<RingSource>{}
             : ring_sources(cx, parts.roles.data, parts.feeds, schedule::data_map);
}

} // namespace

RingMaps declare_maps(Context &cx, const WgmmaParts &parts) {
  const schedule::CoreRoles &roles = parts.roles;
  const schedule::CoreTile &tile = parts.tile;
  RingMaps maps;
  const std::int64_t rows = roles.data_turned ? tile.depth : tile.rows / parts.cluster.columns();
  for (const RingSource &source : copied_data(cx, parts))
    maps.data.push_back(declare(cx, tile, source, "data_map", rows, ring_row_bytes(cx.gemm())));
  if (roles.data_turned) {
    for (const RingSource &source :
         ring_sources(cx, roles.filter, parts.feeds, schedule::turned_filter_map))
      maps.filter.push_back(declare(cx, tile, source, "filter_map", tile.depth, tile.row_bytes()));
    return maps;
  }
  const schedule::FilterMap filter = filter_map(cx.gemm());
  maps.filter.push_back(cx.build.tensor_map({.name = "filter_map",
                                             .tensor = cx.source_buffers[at(roles.filter)],
                                             .offset = filter.offset,
                                             .dims = filter.dims,
                                             .strides = filter.strides,
                                             .box = filter.box,
                                             .swizzle = static_cast<int>(tile.row_bytes())}));
  return maps;
}

std::vector<ExprRef> row_base(const Context &cx, const schedule::ColumnPlan &plan,
                              const schedule::DataMap &map, const std::vector<IndexId> &pixels,
                              ExprRef row, std::vector<StmtRef> &list) {
  kernel::Builder &b = cx.build;
  const auto extent = [&](IndexId i) { return cx.nest.indices[at(i)].extent; };
  std::vector<ExprRef> parts;
  std::vector<ExprRef> positions(cx.nest.indices.size(), b.integer(0));
  for (const IndexId i : plan.parts)
    positions[at(i)] = cx.origin[at(i)];
  for (const nest::Linear &part : map.parts)
    parts.push_back(linear(cx, part, positions));
  if (!map.place.empty())
    return {};
  std::vector<ExprRef> base{map.is_im2col() ? linear(cx, map.first, positions) : b.integer(0)};
  if (!map.is_im2col()) {
    base.push_back(row);
    base.insert(base.end(), parts.begin(), parts.end());
    return base;
  }
  ExprRef rest = row;
  for (auto i = pixels.rbegin(); i != pixels.rend(); ++i) {
    const bool is_last = i + 1 == pixels.rend();
    positions[at(*i)] = named(b, list, "p_" + cx.nest.indices[at(*i)].name,
                              is_last ? rest : b.mod(rest, b.integer(extent(*i))));
    rest = b.div(rest, b.integer(extent(*i)));
  }
  for (std::size_t d = 0; d < map.pixels.size(); ++d) {
    const ExprRef pixel = map.pixels[d] ? positions[at(*map.pixels[d])] : b.integer(0);
    const bool is_batch = d == map.steps.size();
    base.push_back(
        is_batch ? b.add(pixel, parts.front())
                 : named(b, list, "base",
                         b.add(b.mul(pixel, b.integer(map.steps[d])), b.integer(map.lower[d]))));
  }
  return base;
}

} // namespace tilefuse::lower
