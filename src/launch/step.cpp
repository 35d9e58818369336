// SPDX-License-Identifier: Apache-2.0
#include "launch/step.h"

#include <algorithm>
#include <vector>

#include "schedule/blocks.h"
#include "schedule/members.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::launch {
namespace {

using schedule::LocalBuffer;
using schedule::Schedule;
using Reason = std::optional<std::string>;

// Multiprocessors that took as many tiles each would take so many times those there are.
constexpr double kMoreTiles = 1.25;

const nest::Nest &anchor(const Part &part) { return part.placed.group.anchor; }

bool has_alone(const std::vector<LocalBuffer> &buffers, const std::vector<LocalBuffer> &other) {
  return std::any_of(buffers.begin(), buffers.end(), [&](const LocalBuffer &buffer) {
    return std::find(other.begin(), other.end(), buffer) == other.end();
  });
}

Reason wrong_form(const Schedule &schedule) {
  if (!is_wgmma(*schedule.core.op))
    return "its tiles are not multiplied by wgmma";
  if (halo_stages(schedule) > 0 || schedule.roles.transform.groups > 0 ||
      has_loading_warps(schedule) || schedule.extra.stages > 0 || schedule.tiles.cluster() > 1)
    return "its blocks have windows, operands ahead, warps that map or gather, or a cluster";
  return {};
}

// What a block does before its first tile is worked out from these.
Reason unlike_tiles(const Part &first, const Part &other) {
  const schedule::Gemm one = gemm_of(anchor(first), first.schedule);
  const schedule::Gemm two = gemm_of(anchor(other), other.schedule);
  const schedule::StorePanel boxes = store_panel(one);
  const schedule::StorePanel others = store_panel(two);
  const bool is_like = one.tile == two.tile && one.roles.data_turned == two.roles.data_turned &&
                       one.roles.filter_turned == two.roles.filter_turned &&
                       boxes.columns == others.columns && boxes.boxes == others.boxes;
  return is_like ? Reason{} : "its tiles have another shape";
}

// Blocks take several tiles where groups take them in turn (without a loop over tiles they spill;
// NVRTC 13.0, sm_90a), and multiprocessors nearly as many each.
Reason uneven_tiles(const Part &first, const Target &target) {
  const schedule::Gemm gemm = gemm_of(anchor(first), first.schedule);
  const std::int64_t tiles = tile_grid(gemm).tiles();
  const std::int64_t units = std::max<std::int64_t>(core_blocks(gemm), target.compute_units);
  const std::int64_t rounds = (tiles + units - 1) / units;
  if (rounds == 1 && first.schedule.roles.math.instances > 1)
    return "blocks take one tile each";
  if (static_cast<double>(rounds * units) > kMoreTiles * static_cast<double>(tiles))
    return "multiprocessors take uneven numbers of tiles";
  return {};
}

} // namespace

Reason out_of_step(const Part &first, const Part &other, const Target &target) {
  if (!has_core(first.schedule) || !multiply_alike(first.schedule, other.schedule))
    return "it is not multiplied as the first part is";
  if (Reason reason = wrong_form(first.schedule))
    return reason;
  if (Reason reason = unlike_tiles(first, other))
    return reason;
  if (blocks(anchor(first), first.schedule) != blocks(anchor(other), other.schedule))
    return "it has another number of blocks";
  const std::vector<LocalBuffer> own = local_buffers(first.placed.group, first.schedule);
  const std::vector<LocalBuffer> others = local_buffers(other.placed.group, other.schedule);
  if (has_alone(own, others) || has_alone(others, own))
    return "its blocks have other buffers";
  return uneven_tiles(first, target);
}

} // namespace tilefuse::launch
