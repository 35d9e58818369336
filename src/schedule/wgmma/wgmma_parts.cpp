// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/staging.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kMostParts = 8;    // blocks of a cluster on every device that has clusters
constexpr std::int64_t kLeastColumns = 8; // of an instruction

// Columns of an instruction that are stored together.
std::int64_t stored_columns(const Gemm &gemm) {
  if (gemm.schedule.core.swap_ab)
    return kLeastColumns;
  if (gemm.roles.filter_turned)
    return gemm.roles.data_turned || exchanges(gemm) ? kPanelColumns : kLeastColumns;
  return std::max<std::int64_t>(kLeastColumns,
                                4 * gemm.schedule.splits[at(gemm.roles.channel)].vec);
}

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

std::optional<std::string> wrong_parts(const Gemm &gemm) {
  const Core &core = gemm.core();
  const std::int64_t parts = gemm.schedule.tiles.split_k;
  if (parts == 1)
    return {};
  if (parts < 1 || kMostParts % parts != 0)
    return fmt::format("{} parts of a tile's steps; it needs 1, 2, 4 or {}", parts, kMostParts);
  if (gemm.schedule.tiles.cluster_m * gemm.schedule.tiles.cluster_n != 1)
    return "blocks of a cluster share tiles of inputs or parts of the steps, not both";
  if (gemm.schedule.roles.math.instances != 1)
    return "groups that take tiles in turn have no parts of the steps";
  if (core_steps(gemm) < parts)
    return fmt::format("{} parts of {} steps", parts, core_steps(gemm));
  const std::int64_t slices = part_slices(gemm.schedule).columns;
  const std::int64_t together = stored_columns(gemm);
  if (core.op->n % (slices * together) != 0)
    return fmt::format("{} columns are not {} slices of multiples of {}", core.op->n, slices,
                       together);
  return {};
}

std::int64_t clusters_at_once(const Target &target, std::int64_t blocks) {
  const std::int64_t used = blocks > 2 ? target.compute_units * 17 / 20 : target.compute_units;
  return std::max<std::int64_t>(1, used / blocks);
}

} // namespace tilefuse::schedule
