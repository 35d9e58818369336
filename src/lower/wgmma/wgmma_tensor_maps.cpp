// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_tensor_maps.h"

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/mma/core_map.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_maps.h"

namespace tilefuse::lower {

namespace {

// The maps of what is copied for an input, each as `map_of` says of a product that reads it: of boxes
// of so many rows, where the map does not say which.
std::vector<kernel::MapId> declare(const Context &cx, int input,
                                   schedule::DataMap (*map_of)(const schedule::Gemm &),
                                   const char *name, std::int64_t rows, std::int64_t row_bytes) {
  std::vector<kernel::MapId> maps;
  for (const CopiedInput &copied : copied_inputs(cx, input)) {
    schedule::DataMap map = map_of(gemm_of(copied.nest, cx.schedule));
    if (map.box.empty()) {
      map.box = {cx.gemm().tile.depth, rows};
      if (!map.is_im2col())
        map.box.resize(map.dims.size(), 1);
    }
    maps.push_back(declare_map(cx, map, name + copied.suffix, copied.from, row_bytes));
  }
  return maps;
}

} // namespace

RingMaps declare_maps(const Context &cx, const WgmmaCluster &cluster) {
  const schedule::CoreRoles &roles = cx.gemm().roles;
  const schedule::CoreTile &tile = cx.gemm().tile;
  const std::int64_t rows = roles.data_turned ? tile.depth : tile.rows / cluster.columns();
  RingMaps maps;
  if (!has_loading_warps(cx.schedule))
    maps.data =
        declare(cx, roles.data, schedule::data_map, "data_map", rows, ring_row_bytes(cx.gemm()));
  if (roles.data_turned)
    maps.filter = declare(cx, roles.filter, schedule::turned_filter_map, "filter_map", tile.depth,
                          tile.row_bytes());
  else
    maps.filter = {declare_map(cx, filter_map(cx.gemm()), "filter_map",
                               cx.source_buffers[at(roles.filter)], tile.row_bytes())};
  return maps;
}

std::vector<ExprRef> row_base(const Context &cx, const WgmmaTiles &tiles,
                              const schedule::DataMap &map, const std::vector<IndexId> &pixels,
                              ExprRef row, Stmts &list) {
  if (!map.place.empty())
    return {};
  kernel::Builder &b = cx.build;
  Positions positions = tiles.first_points();
  std::vector<ExprRef> parts;
  for (const nest::Linear &part : map.parts)
    parts.push_back(linear(cx, part, positions));
  std::vector<ExprRef> base{map.is_im2col() ? linear(cx, map.first, positions) : b.integer(0)};
  if (!map.is_im2col()) {
    base.push_back(row);
    base.insert(base.end(), parts.begin(), parts.end());
    return base;
  }
  place_digits(cx, pixels, row, "p_", positions, list);
  for (std::size_t d = 0; d < map.pixels.size(); ++d) {
    const ExprRef pixel = map.pixels[d] ? positions[*map.pixels[d]] : b.integer(0);
    const bool is_batch = d == map.steps.size();
    base.push_back(
        is_batch ? b.add(pixel, parts.front())
                 : named(b, list, "base",
                         b.add(b.mul(pixel, b.integer(map.steps[d])), b.integer(map.lower[d]))));
  }
  return base;
}

} // namespace tilefuse::lower
