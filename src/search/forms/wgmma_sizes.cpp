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
#include "schedule/wgmma/wgmma_window.h"
#include "search/forms/roles.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::CoreRoles;
using schedule::Gemm;
using schedule::kWindowPixels;
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

void choose_box(const Nest &nest, Schedule &schedule, std::int64_t neighbours) {
  const bool is_windowed = halo_stages(schedule) > 0;
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

namespace {

// Why there are no such windows, or not so many.
std::optional<std::string> wrong_windows(const Gemm &gemm) {
  for (const auto question : {schedule::wrong_window, schedule::wrong_stages, schedule::excluded})
    if (std::optional<std::string> reason = question(gemm))
      return reason;
  return {};
}

// As many windows as there is room for beside the filter.
void fit_windows(const Nest &nest, Schedule &schedule, const Target &target) {
  constexpr int kMostWindows = 4;
  constexpr int kLeastWindows = 2;
  constexpr int kLeastRing = 4; // before a third window
  const bool is_kept = has_resident(schedule);
  set_step_stages(schedule,
                  is_kept ? static_cast<int>(core_steps(gemm_of(nest, schedule))) : kLeastRing);
  int &windows = data_pipe(nest, schedule).stages;
  for (windows = kMostWindows; windows > kLeastWindows; --windows)
    if (!wrong_windows(gemm_of(nest, schedule)) &&
        local_bytes(local_buffers(nest, schedule)) <= target.local_bytes)
      break;
  if (!is_kept && !wrong_windows(gemm_of(nest, schedule)))
    set_step_stages(schedule, ring_for(nest, schedule, target));
}

} // namespace

int ring_for(const Nest &nest, Schedule schedule, const Target &target) {
  int stages = kMostRing;
  for (; stages > 2; --stages) {
    set_step_stages(schedule, stages);
    if (local_bytes(local_buffers(nest, schedule)) <= target.local_bytes)
      break;
  }
  return stages;
}

void fit_stages(const Nest &nest, Schedule &schedule, const Target &target) {
  if (halo_stages(schedule) > 0)
    fit_windows(nest, schedule, target);
  else
    set_step_stages(schedule, ring_for(nest, schedule, target));
  assign_roles(nest, schedule, target);
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
