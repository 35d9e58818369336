// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/divide.h"
#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kMostStoreBytes = 4096; // of a warp
constexpr std::int64_t kLeastRowBytes = 32;
constexpr std::int64_t kChunkBytes = 16;
constexpr std::string_view kNoMatrix =
    "results that leave in boxes need to lie as one matrix or image";

// Columns of a warp's results that this block stores.
std::int64_t stored_columns(const Gemm &gemm) {
  return gemm.tile.warp_columns / part_slices(gemm.schedule).columns;
}

// Of a panel whose elements take so many bytes: epilogue tiles have whole panels.
std::int64_t panel_columns(const Gemm &gemm, std::int64_t elem_bytes) {
  const std::int64_t vec = gemm.run();
  if (vec != kPairs)
    return 4 * vec;
  std::int64_t columns = kPanelBytes / elem_bytes;
  while (columns * elem_bytes > kLeastRowBytes && gemm.schedule.extra.epi_n % columns != 0)
    columns /= 2;
  return columns;
}

// Whether tiles are made of such panels, and work-items read or write a run at once.
bool is_panel(const Gemm &gemm, std::int64_t columns, std::int64_t elem_bytes) {
  const std::int64_t vec = gemm.run();
  const std::int64_t row_bytes = columns * elem_bytes;
  return row_bytes >= kLeastRowBytes && row_bytes <= kPanelBytes &&
         vec * elem_bytes <= kChunkBytes && (vec != kPairs || elem_bytes == 2) &&
         stored_columns(gemm) % columns == 0;
}

// Elements from a point of an operand to the next; nothing where points are no rows of a matrix of
// neighbouring channels.
std::optional<std::int64_t> matrix_stride(const Nest &nest, const nest::Operand &operand,
                                          const CoreRoles &roles) {
  const nest::Linear flat = nest::flat(operand, nest.indices.size());
  if (flat.coeff[at(roles.channel)] != 1)
    return {};
  std::int64_t stride = 0, next = 0;
  for (auto i = roles.pixels.rbegin(); i != roles.pixels.rend(); ++i) {
    const std::int64_t extent = nest.indices[at(*i)].extent;
    if (extent == 1)
      continue;
    if (flat.coeff[at(*i)] == 0 || (next != 0 && flat.coeff[at(*i)] != next))
      return {};
    stride = next == 0 ? flat.coeff[at(*i)] : stride;
    next = extent * flat.coeff[at(*i)];
  }
  return next == 0 ? std::nullopt : std::optional(stride);
}

// How panels are copied of a tensor that lies as results do: as one matrix of points, as boxes of
// pixels where tiles are, in panels of so many columns, or as an image, whose pixels an im2col map
// walks.
TileMap panel_map(const Gemm &gemm, const nest::Operand &operand, std::int64_t columns) {
  const nest::Linear flat = nest::flat(operand, gemm.nest.indices.size());
  TileMap map{{.offset = flat.constant}};
  map.add(gemm.roles.channel_points, 1, along(gemm.nest, gemm.roles.channel), columns);
  const bool is_boxed = has_box(gemm);
  if (const auto row = matrix_stride(gemm.nest, operand, gemm.roles); row && !is_boxed) {
    map.add(gemm.roles.points, *row, along(gemm.nest, gemm.roles.pixels.back()), gemm.core().rows);
    return map;
  }
  const PixelBox box = pixel_box(gemm);
  for (std::size_t i = box.indices.size(); i-- > 0;)
    if (const IndexId index = box.indices[i];
        !is_boxed || extent(gemm.nest, index) > 1 || box.sizes[i] > 1)
      map.add(extent(gemm.nest, index), flat.coeff[index], along(gemm.nest, index), box.sizes[i]);
  const std::size_t spatial = is_boxed ? 0 : map.dims.size() - 2;
  map.lower.assign(spatial, 0);
  map.upper.assign(spatial, 0);
  map.steps.assign(spatial, 1);
  if (flat.coeff[gemm.roles.channel] != 1 || map.dims.size() < 2 || (spatial == 0) != is_boxed ||
      spatial > at(kMostSpatial))
    map.wrong = kNoMatrix;
  return map;
}

} // namespace

StorePanel store_panel(const Gemm &gemm) {
  const std::int64_t size = size_bytes(type_of(gemm.nest, gemm.nest.out));
  StorePanel panel{.rows = kExchangeRows / part_slices(gemm.schedule).halves,
                   .columns = panel_columns(gemm, size),
                   .elem_bytes = size};
  const std::int64_t of_tile = std::max<std::int64_t>(
      1, gemm.tile.warp_rows / kGroupRows * (stored_columns(gemm) / panel.columns));
  panel.boxes = std::min(of_tile, kMostStoreBytes / (panel.elems() * size));
  while (panel.boxes > 1 && of_tile % panel.boxes != 0)
    --panel.boxes;
  return panel;
}

TileMap result_map(const Gemm &gemm) {
  TileMap map = panel_map(gemm, gemm.nest.out, store_panel(gemm).columns);
  map.box = {map.box.front(), store_panel(gemm).rows};
  map.wrong = unfit(map, size_bytes(type_of(gemm.nest, gemm.nest.out)), "result");
  return map;
}

std::vector<AheadOperand> ahead_operands(const Gemm &gemm) {
  std::vector<AheadOperand> found;
  const bool spreads = has_loading_warps(gemm.schedule) && halo_stages(gemm.schedule) > 0;
  if (spreads || gemm.roles.data_turned || gemm.roles.channels.size() != 1 ||
      gemm.schedule.tiles.split_k > 1 || column_plan(gemm).products != 1 || gemm.row.used > 1)
    return found;
  for (std::size_t i = 0; i < gemm.nest.extras.size(); ++i) {
    const std::int64_t size = size_bytes(type_of(gemm.nest, gemm.nest.extras[i]));
    const std::int64_t columns = exchanges(gemm) ? kPanelColumns : panel_columns(gemm, size);
    if (!is_panel(gemm, columns, size))
      continue;
    AheadOperand operand{panel_map(gemm, gemm.nest.extras[i], columns), static_cast<int>(i),
                         columns, size};
    if (!operand.is_im2col() && unfit(operand, size, "operand").empty())
      found.push_back(std::move(operand));
  }
  return found;
}

std::optional<std::string> wrong_store(const Gemm &gemm) {
  if (gemm.schedule.store != Store::Tma)
    return {};
  const StorePanel panel = store_panel(gemm);
  if (gemm.roles.data_turned || gemm.roles.channels.size() != 1 ||
      column_plan(gemm).products != 1 || has_box(gemm))
    return std::string(kNoMatrix);
  const TileMap map = result_map(gemm);
  if (!map.wrong.empty())
    return map.wrong;
  // Of 108 channels in boxes of 64, an H200 writes what is beyond them too, where an image has
  // gaps.
  const std::int64_t whole = map.is_im2col() ? panel.columns : kChunkBytes / panel.elem_bytes;
  if (gemm.roles.channel_points % whole == 0 && is_panel(gemm, panel.columns, panel.elem_bytes))
    return {};
  return fmt::format("{} channels leave in no boxes by runs of {} of {} columns; boxes hold "
                     "multiples of {}, in rows of {} to {} bytes",
                     gemm.roles.channel_points, gemm.run(), gemm.tile.warp_columns, whole,
                     kLeastRowBytes, kPanelBytes);
}

AheadRing ahead_ring(const Gemm &gemm) {
  const Pipe &pipe = gemm.schedule.extra;
  const std::int64_t all = gemm.tile.warp_columns;
  AheadRing ring{.columns = pipe.epi_n == 0 ? all : pipe.epi_n, .stages = pipe.stages};
  ring.pieces = std::max<std::int64_t>(1, all / ring.columns);
  ring.elems = gemm.tile.rows * gemm.tile.columns / ring.pieces;
  ring.full = round_up(gemm.schedule.roles.math.instances * ring.pieces,
                       std::max<std::int64_t>(1, ring.stages));
  return ring;
}

std::int64_t most_ahead(const Gemm &gemm) {
  return 2 * gemm.schedule.roles.math.instances * ahead_ring(gemm).pieces;
}

std::optional<std::string> wrong_ahead(const Gemm &gemm) {
  const Pipe &pipe = gemm.schedule.extra;
  if (pipe.stages == 0)
    return outside({{"extra.epi_n", pipe.epi_n, 0, 0}});
  const std::vector<AheadOperand> operands = ahead_operands(gemm);
  if (operands.empty())
    return "no operand of post-ops lies as results do, to be fetched ahead";
  // Work-items of swapped results have columns of all of a group's; warps that load wait for room
  // for a whole tile before they load what is multiplied before it.
  const bool is_whole = gemm.core().swap_ab || has_loading_warps(gemm.schedule);
  const std::int64_t all = gemm.tile.warp_columns;
  return outside({{"extra.epi_n", pipe.epi_n, 0, is_whole ? 0 : all / 2, operands.front().columns},
                  {"group.columns", all, 0, kNoEnd, std::max<std::int64_t>(1, pipe.epi_n)}});
}

} // namespace tilefuse::schedule
