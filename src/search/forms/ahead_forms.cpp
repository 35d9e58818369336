// SPDX-License-Identifier: Apache-2.0
#include "search/forms/ahead_forms.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/legal.h"
#include "search/forms/roles.h"
#include "search/forms/wgmma_sizes.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::Schedule;

} // namespace

std::optional<Schedule> with_ahead(const Nest &nest, Schedule schedule, const Target &target,
                                   int buffers) {
  schedule.extra = {.engine = schedule::Engine::Tma, .stages = buffers};
  if (halo_stages(schedule) > 0)
    fit_windows(nest, schedule, target, has_resident(schedule));
  else
    set_step_stages(schedule, ring_for(nest, schedule, target));
  assign_roles(nest, schedule, target);
  return illegal(nest, schedule, target) ? std::nullopt : std::optional(std::move(schedule));
}

void add_ahead(const Nest &nest, const Target &target, std::vector<Schedule> &found) {
  constexpr int kLeastRing = 3; // a shallower one waits for each copy
  const std::size_t count = nest.extras.empty() ? 0 : found.size();
  const bool is_wide =
      has(target, Quirk::WideAheadSpills) && size_bytes(type_of(nest, nest.out)) == 4;
  for (std::size_t i = 0; i < count; ++i) {
    if (has_loading_warps(found[i])) // not weighed yet
      continue;
    for (int buffers = found[i].roles.math.instances;
         buffers > 0 && !(is_wide && found[i].store == schedule::Store::Tma); --buffers)
      if (auto ahead = with_ahead(nest, found[i], target, buffers);
          ahead && (halo_stages(found[i]) > 0 || step_stages(*ahead) >= kLeastRing))
        found.push_back(*std::move(ahead));
  }
}

void add_gaining_ahead(const Nest &nest, const Target &target, std::vector<Schedule> &found) {
  const std::size_t count = found.size();
  add_ahead(nest, target, found);
  found.erase(std::remove_if(found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                             [](const Schedule &each) { return each.roles.math.instances == 1; }),
              found.end());
}

} // namespace tilefuse::search
