// SPDX-License-Identifier: Apache-2.0
#include "lower/hash_rows.h"

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/launch/lower_launch.h"
#include "lower/pipeline.h"
#include "schedule/members.h"
#include "schedule/text.h"

namespace tilefuse::testing {

void add_kernel(Cell &cell, const poly::Group &group, const schedule::Schedule &schedule,
                const Target &target) {
  cell.schedules += poly::to_text(group) + schedule::to_text(group, schedule);
  cell.kernels += kernel::to_text(lower::lower(group, schedule, target));
}

void add_launch(Cell &cell, const launch::Launch &launch, const Target &target) {
  cell.schedules += launch.join ? "joined launch\n" : "launch\n";
  for (const launch::Part &part : launch.parts)
    cell.schedules +=
        fmt::format("{}\n{}{}", to_string(part.place), poly::to_text(part.placed.group),
                    schedule::to_text(part.placed.group, part.schedule));
  cell.kernels += kernel::to_text(lower::lower_launch(launch, target));
}

} // namespace tilefuse::testing
