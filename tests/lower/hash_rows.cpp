// SPDX-License-Identifier: Apache-2.0
#include "lower/hash_rows.h"

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "schedule/members.h"
#include "schedule/text.h"

namespace tilefuse::testing {

void add_kernel(Cell &cell, const poly::Group &group, const schedule::Schedule &schedule,
                const Target &target) {
  cell.schedules += poly::to_text(group) + schedule::to_text(group, schedule);
  cell.kernels += kernel::to_text(lower::lower(group, schedule, target));
}

void add_launch(Cell &cell, const model::Launch &launch,
                const std::vector<model::LaunchPart> &parts, const Target &target) {
  cell.schedules += launch.joins ? "joined launch\n" : "launch\n";
  for (std::size_t p = 0; p < launch.kernels.size(); ++p) {
    const model::LaunchPart &part = parts[launch.kernels[p]];
    cell.schedules +=
        fmt::format("{}\n{}{}", to_string(launch.places[p]), poly::to_text(part.placed->group),
                    schedule::to_text(part.placed->group, *part.schedule));
  }
  cell.kernels += kernel::to_text(model::lower_launch(launch, parts, target));
}

} // namespace tilefuse::testing
