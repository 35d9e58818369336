// SPDX-License-Identifier: Apache-2.0
#include "search/forms/part_forms.h"

#include <algorithm>
#include <array>

#include "schedule/blocks.h"
#include "schedule/legal.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/wgmma_sizes.h"

namespace tilefuse::search {
namespace {

using schedule::clusters_at_once;

constexpr std::array<std::int64_t, 2> kParts = {2, 4}; // that gain (docs/lab)

} // namespace

std::optional<Schedule> with_parts(const Nest &nest, Schedule schedule, const Target &target,
                                   std::int64_t parts) {
  if (!has_core(schedule) || !is_wgmma(*schedule.core.op) || parts < 1)
    return {};
  schedule.tiles.split_k = parts;
  set_step_stages(schedule, ring_for(nest, schedule, target));
  const std::int64_t clusters = clusters_at_once(target, parts);
  schedule.tiles.persistent =
      tile_grid(gemm_of(nest, schedule)).clusters() > clusters ? clusters * parts : 0;
  return with_runs(nest, std::move(schedule), target);
}

std::vector<Schedule> wgmma_part_schedules(const Nest &nest, const Target &target,
                                           const std::vector<Schedule> &wholes) {
  std::vector<Schedule> found;
  constexpr int kLeastRing = 4; // a shallower one waits for each copy
  for (const Schedule &whole : wholes) {
    const schedule::Gemm gemm = gemm_of(nest, whole);
    if (gemm.roles.data_turned || column_plan(gemm).products > 1)
      break;
    const std::int64_t tiles = tile_grid(gemm).tiles();
    for (const std::int64_t parts : kParts)
      if (tiles <= clusters_at_once(target, parts) && tiles * parts <= target.compute_units &&
          whole.roles.math.instances == 1 && whole.store != schedule::Store::Tma)
        if (auto in_parts = with_parts(nest, whole, target, parts);
            in_parts && step_stages(*in_parts) >= kLeastRing)
          found.push_back(*std::move(in_parts));
  }
  return found;
}

NamedSchedule named_in_parts(const Nest &nest, const std::vector<Schedule> &all,
                             const std::vector<Schedule> &picks, const Target &target) {
  std::vector<Schedule> found = wgmma_part_schedules(nest, target, picks);
  for (auto whole = all.begin(); found.empty() && whole != all.end(); ++whole)
    if (auto halves = with_parts(nest, *whole, target, 2))
      found.push_back(*std::move(halves));
  if (found.empty()) {
    Schedule halves = all.front();
    halves.tiles.split_k = 2;
    return misfit(kPartsName, illegal(nest, halves, target).value_or(""));
  }
  Schedule most = *std::max_element(found.begin(), found.end(), [&](const auto &a, const auto &b) {
    return blocks(nest, a) < blocks(nest, b);
  });
  most.name = kPartsName;
  return {std::move(most), {}};
}

} // namespace tilefuse::search
