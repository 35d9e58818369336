// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/atom_tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using Reason = std::optional<std::string>;

constexpr std::int64_t kMostWarps = 32;
constexpr std::int64_t kMostWarpgroups = 3; // beside one that loads: registers
constexpr std::int64_t kBlockBytes = 32;    // of a pixel, as wgmma reads blocks of channels
constexpr std::int64_t kLargestTile = 512;  // of mma
constexpr std::int64_t kLeastExchange =
    32; // columns of a warp; as many are dealt where words are read
static_assert(kLeastExchange == kWordGroup);
constexpr std::int64_t kMostColumns = 256; // of wgmma, beside one block of rows
constexpr std::int64_t kMostRun = kLargestTile / kCoreColumns;
constexpr std::array<std::int64_t, 4> kDealtRuns = {2, 4, 8, 16};

// Each warp (wgmma: warpgroup) takes whole instructions' rows and columns of a tile; of wgmma one of
// the instruction's own width, and as many blocks of 64 as accumulators have registers.
Reason wrong_shares(const Gemm &gemm) {
  const Core &core = gemm.core();
  const bool is_of_wgmma = is_wgmma(*core.op);
  const std::int64_t most = is_of_wgmma ? kMostWarpgroups : kMostWarps;
  if (Reason reason = outside({{"warps.m", core.warp_rows, 1, most},
                               {"warps.n", core.warp_columns, 1, most},
                               {"warps", core.warp_rows * core.warp_columns, 1, most}}))
    return reason;
  const std::int64_t blocks = kMostColumns / core.op->n;
  const auto share = [&](std::string_view what, std::int64_t points, std::int64_t warps,
                         std::int64_t of_mma, bool is_along) {
    const std::int64_t unit = warps * (!is_of_wgmma ? of_mma : is_along ? core.op->n : kGroupRows);
    return Range{what, points, unit, is_of_wgmma ? (is_along ? unit : blocks * unit) : kLargestTile,
                 unit};
  };
  return outside({share("tile.rows", gemm.tile.rows, core.warp_rows,
                        reads_words(gemm, gemm.roles.data) ? kWordGroup : kCoreRows, core.swap_ab),
                  share("tile.columns", gemm.tile.columns, core.warp_columns,
                        gemm.roles.filter_turned ? kLeastExchange : kCoreColumns, !core.swap_ab)});
}

// Chunks of what ldmatrix reads from turned rows are told apart by their bits.
Reason wrong_turned(const Gemm &gemm) {
  const auto is_power = [](std::int64_t value) { return (value & (value - 1)) == 0; };
  const auto is_read = [&](int input) {
    return gemm.roles.is_turned(input) && !reads_words(gemm, input);
  };
  const bool is_rows =
      is_read(gemm.roles.data) && !(is_power(gemm.tile.rows) && is_power(gemm.tile.warp_rows));
  const bool is_columns = is_read(gemm.roles.filter) &&
                          !(is_power(gemm.tile.columns) && is_power(gemm.tile.warp_columns));
  if (gemm.is_wgmma() || (!is_rows && !is_columns))
    return {};
  return fmt::format("{} {} that lie turned, {} of a warp; ldmatrix reads powers of 2",
                     is_rows ? gemm.tile.rows : gemm.tile.columns, is_rows ? "rows" : "columns",
                     is_rows ? gemm.tile.warp_rows : gemm.tile.warp_columns);
}

// Whether warps of mma can exchange results that work-items store one by one: fragments that words
// were loaded for are dealt, and whole warps store neighbours.
bool stores_single(const Gemm &gemm) {
  return !reads_words(gemm, gemm.roles.data) && !reads_words(gemm, gemm.roles.filter) &&
         (gemm.tile.warp_columns < kCoreLanes || gemm.tile.warp_columns % kCoreLanes == 0) &&
         kCoreLanes % std::min<std::int64_t>(gemm.tile.warp_columns, kCoreLanes) == 0;
}

// Whether work-items can store runs of so many neighbouring channels.
bool stores_runs(const Gemm &gemm, std::int64_t vec) {
  const CoreRoles &roles = gemm.roles;
  const std::int64_t channels = roles.channel_points;
  if (vec < 1 || (roles.channels.size() > 1 && extent(gemm.nest, roles.channel) % vec != 0))
    return false;
  if (!gemm.is_wgmma() && vec == 1)
    return stores_single(gemm);
  if (!gemm.is_wgmma())
    return roles.filter_turned ? vec == turned_run(gemm)
                               : vec > 1 && kCoreColumns * vec == gemm.tile.warp_columns;
  if (gemm.core().swap_ab)
    return vec == 1 || (vec == kPairs && channels % (kPairs * kHalfRows) == 0 &&
                        (!roles.filter_turned || has_resident(gemm.schedule)));
  if (turns_in_ring(gemm, roles.filter) && vec != kPairs)
    return vec == kDealtWords && gemm.core().op->n % (4 * vec) == 0 && channels % (4 * vec) == 0;
  if (roles.filter_turned)
    return (vec == kPairs || (vec == kPanelVec && gemm.panel == kPanelColumns)) &&
           channels % vec == 0;
  return std::find(kDealtRuns.begin(), kDealtRuns.end(), vec) != kDealtRuns.end() &&
         gemm.core().op->n % (4 * vec) == 0 && channels % (4 * vec) == 0;
}

Reason wrong_runs(const Gemm &gemm) {
  const std::int64_t vec = gemm.run();
  if (stores_runs(gemm, vec))
    return {};
  std::vector<std::int64_t> others;
  for (std::int64_t run = 1; run <= kMostRun; ++run)
    if (stores_runs(gemm, run))
      others.push_back(run);
  return fmt::format("runs of {} of {} channels; work-items of {} store runs of [{}]", vec,
                     gemm.roles.channel_points, gemm.core().op->name,
                     others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", ")));
}

// The tile's rows are a box of pixels. In blocks those of a row of the ring are evenly apart.
Reason wrong_box(const Gemm &gemm) {
  if (!gemm.is_wgmma() || !has_box(gemm))
    return {};
  const std::int64_t rows = gemm.core().rows;
  const std::int64_t held = gemm.row.used == 1 ? 1 : gemm.row.used * gemm.row.step;
  return outside({{"box.pixels", pixel_box(gemm).points(), rows, rows},
                  {"row.pixels", gemm.row.held, held, held}});
}

// Swizzles are of rows of 32, 64 or 128 bytes; a turned filter of wgmma lies in whole panels.
Reason wrong_rows(const Gemm &gemm) {
  const bool is_of_wgmma = gemm.is_wgmma();
  const bool has_panels = is_of_wgmma && gemm.roles.filter_turned;
  const std::int64_t last = gemm.tile.warp_columns % gemm.panel * gemm.tile.elem_bytes;
  const std::int64_t last_row = gemm.tile.warp_rows * gemm.tile.elem_bytes % kPanelBytes;
  const bool is_square =
      is_of_wgmma && reads_words(gemm, gemm.roles.filter); // as many columns as a row's points
  for (const std::int64_t bytes :
       {gemm.tile.row_bytes(), is_of_wgmma ? ring_row_bytes(gemm) : kPanelBytes,
        has_panels && last != 0 ? last : kPanelBytes,
        is_of_wgmma && gemm.roles.data_turned && last_row != 0 ? last_row : kPanelBytes,
        is_square ? gemm.panel * gemm.tile.elem_bytes : kPanelBytes})
    if (bytes != kPanelBytes && (has_panels || (bytes != 32 && bytes != 64)))
      return fmt::format("rows of {} bytes in local memory; {} reads rows of {}", bytes,
                         gemm.core().op->name, has_panels ? "128" : "32, 64 or 128");
  return {};
}

// Whole blocks are a step; those that tensor copies bring are a pixel's row.
Reason wrong_blocks(const Gemm &gemm) {
  if (!gemm.roles.has_blocks())
    return {};
  const std::int64_t block = extent(gemm.nest, gemm.roles.depth());
  const std::int64_t bytes = block * gemm.tile.elem_bytes;
  const bool by_pixels = gemm.is_wgmma() && in_panels(gemm.roles, gemm.schedule);
  const std::int64_t needed = by_pixels ? kBlockBytes : bytes;
  return outside({{"step.depth", gemm.tile.depth, block, kNoEnd, block},
                  {"block.bytes", bytes, needed, needed}});
}

} // namespace

std::optional<std::string> wrong_atom_tile(const Gemm &gemm) {
  for (const auto question :
       {wrong_shares, wrong_turned, wrong_runs, wrong_box, wrong_blocks, wrong_rows})
    if (Reason reason = question(gemm))
      return reason;
  return {};
}

} // namespace tilefuse::schedule
