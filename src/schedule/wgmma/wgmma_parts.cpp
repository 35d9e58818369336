// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_parts.h"

#include <algorithm>

#include "base/index.h"
#include "schedule/staging.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

constexpr std::int64_t kLeastColumns = 8; // of an instruction

} // namespace

PartSlices part_slices(const Schedule &schedule) {
  const std::int64_t halves = schedule.tiles.split_k > 1 && !schedule.core.swap_ab ? 2 : 1;
  return {halves, schedule.tiles.split_k / halves};
}

std::int64_t most_steps(const Gemm &gemm) {
  const std::int64_t parts = gemm.schedule.tiles.split_k;
  return (core_steps(gemm) + parts - 1) / parts;
}

std::int64_t joined_elems(const Gemm &gemm) {
  return gemm.schedule.tiles.split_k == 1 ? 0 : gemm.tile.rows * gemm.tile.columns;
}

std::int64_t joined_bytes(const Gemm &gemm) {
  return joined_elems(gemm) * size_bytes(held_type(gemm.nest));
}

std::int64_t joined_columns(const Gemm &gemm) {
  if (gemm.schedule.core.swap_ab)
    return kLeastColumns;
  if (gemm.roles.filter_turned)
    return gemm.roles.data_turned || exchanges(gemm) ? kPanelColumns : kLeastColumns;
  return std::max<std::int64_t>(kLeastColumns,
                                4 * gemm.schedule.splits[at(gemm.roles.channel)].vec);
}

std::int64_t clusters_at_once(const Target &target, std::int64_t blocks) {
  const std::int64_t used = blocks > 2 ? target.compute_units * 17 / 20 : target.compute_units;
  return std::max<std::int64_t>(1, used / blocks);
}

} // namespace tilefuse::schedule
