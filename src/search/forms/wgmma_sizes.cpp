// SPDX-License-Identifier: Apache-2.0
#include "search/forms/wgmma_sizes.h"

#include <algorithm>
#include <array>

#include "base/index.h"
#include "schedule/legal.h"
#include "schedule/local_memory.h"
#include "schedule/mma/core_legal.h"
#include "schedule/mma/core_pipes.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"
#include "search/forms/roles.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::CoreRoles;
using schedule::Footprint;
using schedule::Gemm;
using schedule::kGroupItems;
using schedule::kWindowPixels;
using schedule::Pipe;
using schedule::Schedule;
using schedule::Split;

constexpr int kMostRing = 8;
constexpr std::array kVecs = {16, 8, 4, 2};

// The rest of a box's rows over pixel indices from the fastest on, with the fewest points that are
// none; of equal ones that with the longest rows.
struct BoxSearch {
  const Nest &nest;
  const std::vector<nest::IndexId> indices; // fastest first
  const std::int64_t unit = 1;              // of the fastest's size
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

void choose_box(const Nest &nest, Schedule &schedule, bool is_windowed, std::int64_t neighbours) {
  const CoreRoles roles = core_roles(nest, schedule);
  std::vector<nest::IndexId> indices(roles.pixels.rbegin(), roles.pixels.rend());
  std::int64_t rows = schedule.core.rows;
  if (in_panels(roles, schedule) && !is_windowed) {
    const nest::IndexId fastest = pixel_box(gemm_of(nest, schedule)).indices.back();
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

bool spills(const Gemm &gemm, const Target &target) {
  constexpr std::int64_t kAccumulators = 128;
  constexpr std::int64_t kWidest = 256;
  if (has(target, Quirk::WideGatherSpills) && has_loading_warps(gemm.schedule) &&
      gemm.schedule.roles.math.instances > 1 && gemm.core().op->n == kWidest)
    return true;
  if (has(target, Quirk::BoxPlacesSpill) && gemm.schedule.store == schedule::Store::Tma &&
      gemm.core().warp_rows > 2 && result_map(gemm).is_im2col())
    return true;
  return has(target, Quirk::WideResidualSpills) && has_box(gemm) &&
         gemm.schedule.roles.math.instances > 1 &&
         gemm.tile.warp_rows * gemm.tile.warp_columns >= kAccumulators * kGroupItems &&
         std::any_of(gemm.nest.extras.begin(), gemm.nest.extras.end(),
                     [&](const nest::Operand &extra) {
                       const nest::Slot &slot = gemm.nest.slots[extra.slot];
                       return size_bytes(slot.type) == 4 &&
                              slot.elems >= gemm.nest.slots[gemm.nest.out.slot].elems;
                     });
}

// Why there are no such windows, or not so many.
std::optional<std::string> wrong_windows(const Gemm &gemm) {
  for (const auto question : {schedule::wrong_window, schedule::wrong_stages, schedule::excluded})
    if (std::optional<std::string> reason = question(gemm))
      return reason;
  return {};
}

void fit_windows(const Nest &nest, Schedule &schedule, const Target &target, bool keeps_filter) {
  constexpr int kMostWindows = 4;
  constexpr int kLeastWindows = 2;
  constexpr int kLeastRing = 4; // before a third window
  const CoreRoles roles = core_roles(nest, schedule);
  Pipe &data = schedule.pipes[at(roles.data)];
  Pipe &filter = schedule.pipes[at(roles.filter)];
  data.footprint = Footprint::Halo;
  filter.footprint = keeps_filter ? Footprint::Resident : Footprint::Step;
  filter.stages = keeps_filter ? static_cast<int>(core_steps(gemm_of(nest, schedule))) : kLeastRing;
  for (data.stages = kMostWindows; data.stages > kLeastWindows; --data.stages)
    if (!wrong_windows(gemm_of(nest, schedule)) &&
        local_bytes(local_buffers(nest, schedule)) <= target.local_bytes)
      break;
  if (!keeps_filter && !wrong_windows(gemm_of(nest, schedule)))
    filter.stages = ring_for(nest, schedule, target);
}

int ring_for(const Nest &nest, Schedule schedule, const Target &target) {
  int stages = kMostRing;
  for (; stages > 2; --stages) {
    set_step_stages(schedule, stages);
    if (local_bytes(local_buffers(nest, schedule)) <= target.local_bytes)
      break;
  }
  return stages;
}

std::optional<Schedule> with_runs(const Nest &nest, Schedule schedule, const Target &target) {
  assign_roles(nest, schedule, target);
  Split &channel = schedule.splits[at(core_roles(nest, schedule).channel)];
  for (const std::int64_t widest = channel.vec; const std::int64_t vec : kVecs) {
    channel.vec = std::min(vec, widest);
    if (vec <= std::max<std::int64_t>(widest, kVecs.back()) && !illegal(nest, schedule, target))
      return schedule;
  }
  return {};
}

} // namespace tilefuse::search
