// SPDX-License-Identifier: Apache-2.0
// The kernels of a program explained as they are made: time, bound and what to try; group, the
// schedules that were weighed and what each lost by, what staging and packing look like, how blocks
// and lanes share the work, and the kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/tune/records.h"
#include "poly/group.h"
#include "report/candidates.h"
#include "report/layers.h"
#include "report/sections.h"
#include "report/verdict.h"
#include "runtime/device.h"
#include "runtime/store/record_store.h"
#include "target/target.h"

namespace tilefuse::report {

struct ScheduleOptions {
  Target target;
  std::size_t candidates = 5; // 0: nothing is searched for
  // With a device, whose target `target` must be: kernels are explained as they are compiled for
  // it, by its tuning records where there are any.
  runtime::Device *device = nullptr;
  runtime::RecordStore *records = nullptr;
  std::string split = "auto";  // of reductions (search/network/split_groups.h)
  std::string layout = "auto"; // of activations (search/network/layout_choice.h)
  Sections sections;
  Style style; // of tables
};

// What was weighed for one group, and what came of it.
struct ExplainedGroup {
  model::Choice chosen;
  std::string ignored; // why a tuning record of the device is not used, or empty
  std::vector<Weighed> weighed;
  Verdict verdict; // with a device: measured there
};
ExplainedGroup explain_group(const poly::Group &group, const ScheduleOptions &options, int number);
// The same where the schedule is known, and its time or nothing.
ExplainedGroup explain_choice(const poly::Group &group, model::Choice chosen,
                              std::optional<MeasuredKernel> measured,
                              const ScheduleOptions &options, int number);
// Its verdict and its schedule, then the sections that are asked for; `between` stands behind the
// schedule.
std::string to_text(const ExplainedGroup &explained, const poly::Group &group,
                    const ScheduleOptions &options, const std::string &between);

// All kernels of a program that is simplified already and must outlive the result.
Explanation explain_with_model(const program::Program &program, const ScheduleOptions &options);

} // namespace tilefuse::report
