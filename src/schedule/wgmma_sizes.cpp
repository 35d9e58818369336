// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma_sizes.h"

#include <algorithm>

#include "schedule/wgmma.h"
#include "schedule/wgmma_forms.h"
#include "schedule/wgmma_panels.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr int kLaunchRegisters = 512; // by groups: what a work-item gets at launch
constexpr int kMapperRegisters = 112;
constexpr int kCopyingMapperRegisters = 128;
constexpr int kGatherRegisters = 104;
constexpr int kWindowRegisters = 136; // of windows, beside two groups

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The rest of a box's rows over pixel indices from the fastest on, with the fewest points that are
// none; of equal ones that with the longest rows.
struct BoxSearch {
  const Nest &nest;
  const std::vector<int> indices; // fastest first
  const std::int64_t unit = 1;    // of the fastest's size
  std::vector<std::int64_t> sizes, best;
  std::int64_t fewest = 0;

  void run(std::size_t place, std::int64_t rows, std::int64_t points) {
    const std::int64_t extent = nest.indices[at(indices[place])].extent;
    const bool is_last = place + 1 == indices.size();
    for (std::int64_t size = rows; size >= 1; --size) {
      if (rows % size != 0 || (is_last && size != rows) || (place == 0 && size % unit != 0))
        continue;
      const std::int64_t padded = points * ((extent + size - 1) / size * size);
      sizes[place] = size;
      if (!is_last)
        run(place + 1, rows / size, padded);
      else if (best.empty() || padded < fewest) {
        best = sizes;
        fewest = padded;
      }
    }
  }
};

} // namespace

RegisterPlan register_plan(const Schedule &schedule, bool copies_ahead) {
  const auto consumers =
      static_cast<int>(schedule.core.warp_rows * schedule.core.warp_columns) * schedule.core.turns;
  const int groups = consumers + 1 + schedule.core.mappers;
  if (consumers < 2)
    return {};
  const int launch = kLaunchRegisters / groups / 8 * 8;
  const bool maps = schedule.core.mappers == 0 && !schedule.producers.empty();
  // Slices and masks of a cluster take more, operands fetched ahead, and a filter copied ahead, of
  // which all buffers of a ring are written out (NVRTC 13.0, sm_90a).
  const bool takes_more = schedule.core.cluster() > 1 || schedule.core.ahead > 0 ||
                          (copies_ahead && schedule.core.mappers == 0);
  const bool has_room = schedule.core.window > 0 && consumers == 2;
  const int gatherer = has_room ? kWindowRegisters : kGatherRegisters;
  const int producer = schedule.core.gathers ? gatherer
                       : maps                ? kCopyingMapperRegisters
                       : takes_more          ? 56
                       : consumers > 2       ? 32
                                             : 40;
  const int rest = launch * groups - producer - schedule.core.mappers * kMapperRegisters;
  return {producer, std::min(240, rest / consumers / 8 * 8),
          schedule.core.mappers > 0 ? kMapperRegisters : 0, launch};
}

void choose_box(const Nest &nest, Schedule &schedule, bool is_windowed, std::int64_t neighbours) {
  const CoreRoles roles = core_roles(nest, schedule);
  std::vector<int> indices(roles.pixels.rbegin(), roles.pixels.rend());
  std::int64_t rows = schedule.core.rows;
  if (in_panels(roles, schedule) && !is_windowed) {
    const int fastest = pixel_box(nest, schedule).indices.back();
    schedule.splits[at(fastest)].tile = neighbours;
    rows /= neighbours;
    indices.erase(std::find(indices.begin(), indices.end(), fastest));
  }
  std::int64_t unit = 1;
  if (is_windowed && !indices.empty()) {
    schedule.splits[at(indices.front())].tile = kWindowPixels;
    indices.erase(indices.begin());
    rows /= kWindowPixels;
    unit = window_unit(schedule) / kWindowPixels;
  }
  if (indices.empty())
    return;
  BoxSearch search{.nest = nest,
                   .indices = indices,
                   .unit = unit,
                   .sizes = std::vector<std::int64_t>(indices.size(), 1)};
  search.run(0, rows, 1);
  if (search.best.empty())
    return;
  for (std::size_t i = 0; i < indices.size(); ++i)
    schedule.splits[at(indices[i])].tile = search.best[i];
}

bool spills(const Nest &nest, const Schedule &schedule) {
  constexpr std::int64_t kAccumulators = 128;
  constexpr std::int64_t kWidest = 256;
  const CoreTile tile = core_tile(nest, schedule);
  if (schedule.core.gathers && schedule.core.turns > 1 && schedule.core.op->n == kWidest)
    return true;
  // Coordinates of pixels, where three groups leave few registers (NVRTC 13.0, sm_90a).
  if (schedule.core.tensor_store && schedule.core.warp_rows > 2 &&
      result_map(nest, schedule).is_im2col())
    return true;
  return has_box(nest, schedule) && schedule.core.turns > 1 &&
         tile.warp_rows * tile.warp_columns >= kAccumulators * kGroupItems &&
         std::any_of(nest.extras.begin(), nest.extras.end(), [&](const nest::Operand &extra) {
           const nest::Slot &slot = nest.slots[at(extra.slot)];
           return size_bytes(slot.type) == 4 && slot.elems >= nest.slots[at(nest.out.slot)].elems;
         });
}

void fit_windows(const Nest &nest, Schedule &schedule, const Target &target, bool keeps_filter) {
  constexpr int kMostWindows = 4;
  constexpr int kLeastWindows = 2;
  constexpr int kLeastRing = 4; // before a third window
  Core &core = schedule.core;
  const CoreRoles roles = core_roles(nest, schedule);
  core.keeps_filter = keeps_filter;
  core.ring = keeps_filter ? static_cast<int>(core_steps(nest, schedule)) : kLeastRing;
  for (core.window = kMostWindows; core.window > kLeastWindows; --core.window)
    if (!wrong_window(nest, schedule, roles) &&
        wgmma_local_bytes(nest, schedule) <= target.local_bytes)
      break;
  if (!keeps_filter && !wrong_window(nest, schedule, roles))
    core.ring = ring_for(nest, schedule, target);
}

} // namespace tilefuse::schedule
