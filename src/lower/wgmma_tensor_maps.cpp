// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma_tensor_maps.h"

#include <utility>

#include "lower/wgmma_map.h"

namespace tilefuse::lower {
namespace {

// Of a box of so many rows, where the map does not say which.
kernel::MapId declare(Context &cx, const schedule::CoreTile &tile, const RingSource &source,
                      const char *name, std::int64_t rows) {
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
                              .swizzle = static_cast<int>(ring_row_bytes(cx.nest, cx.schedule))});
}

std::vector<RingSource> copied_data(const Context &cx, const WgmmaParts &parts) {
  return cx.schedule.core.gathers
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
    maps.data.push_back(declare(cx, tile, source, "data_map", rows));
  if (roles.data_turned) {
    for (const RingSource &source :
         ring_sources(cx, roles.filter, parts.feeds, schedule::turned_filter_map))
      maps.filter.push_back(declare(cx, tile, source, "filter_map", tile.depth));
    return maps;
  }
  const schedule::FilterMap filter = filter_map(cx.nest, cx.schedule);
  maps.filter.push_back(
      cx.build.tensor_map({.name = "filter_map",
                           .tensor = cx.source_buffers[static_cast<std::size_t>(roles.filter)],
                           .offset = filter.offset,
                           .dims = filter.dims,
                           .strides = filter.strides,
                           .box = filter.box,
                           .swizzle = static_cast<int>(ring_row_bytes(cx.nest, cx.schedule))}));
  return maps;
}

} // namespace tilefuse::lower
