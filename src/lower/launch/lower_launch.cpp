// SPDX-License-Identifier: Apache-2.0
#include "lower/launch/lower_launch.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "base/error.h"
#include "launch/arguments.h"
#include "launch/between.h"
#include "launch/legal.h"
#include "lower/launch/join_last.h"
#include "lower/launch/side_by_side.h"
#include "lower/pipeline.h"
#include "schedule/members.h"
#include "schedule/mma/core.h"

namespace tilefuse::lower {
namespace {

using launch::Launch;
using launch::Part;
using launch::Place;

// The global buffer of a kernel that its group's result is.
kernel::BufferId result_of(const Part &part) {
  const std::vector<schedule::KernelArg> args = kernel_args(part.placed.group, part.schedule);
  const poly::SlotId slot = part.placed.group.anchor.out.slot;
  const auto found =
      std::find_if(args.begin(), args.end(), [&](const auto &arg) { return arg.slot == slot; });
  return kernel::BufferId{static_cast<int>(found - args.begin())};
}

StepPart step_of(const Part &part, const Lowered &lowered) {
  return {step_stages(part.schedule), core_steps(gemm_of(part.placed.group.anchor, part.schedule)),
          lowered.place.value()};
}

kernel::Kernel together(const Launch &launch, const Target &target) {
  std::deque<Lowered> kernels; // stay where they are
  std::vector<SidePart> sides;
  const launch::Arguments arguments = launch::arguments(launch);
  const Part &first = launch.parts.front();
  const bool has_steps = std::any_of(launch.parts.begin(), launch.parts.end(),
                                     [](const Part &part) { return part.place == Place::InStep; });
  for (std::size_t p = 0; p < launch.parts.size(); ++p) {
    const Part &part = launch.parts[p];
    if (part.place == Place::Between) {
      sides[0].between.push_back(
          launch::between(first.placed.group.anchor, part.placed.group.anchor).value());
      continue;
    }
    kernels.push_back(lower_part(part.placed.group, part.schedule, target));
    sides.push_back({.kernel = &kernels.back().kernel,
                     .arguments = arguments.of_parts[p],
                     .is_dealt = part.place == Place::Dealt,
                     .is_following = part.place == Place::Following,
                     .results = result_of(part)});
    if (has_steps && (p == 0 || part.place == Place::InStep))
      sides.back().step = step_of(part, kernels.back());
  }
  return launch.join ? join_last(sides, *launch.join) : side_by_side(sides);
}

} // namespace

kernel::Kernel lower_launch(const Launch &launch, const Target &target) {
  const std::optional<std::string> reason = launch::illegal(launch, target);
  TILEFUSE_CHECK(!reason, reason.value_or(""));
  if (launch.parts.size() == 1)
    return lower(launch.parts[0].placed.group, launch.parts[0].schedule, target);
  return together(launch, target);
}

} // namespace tilefuse::lower
