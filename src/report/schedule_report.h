// SPDX-License-Identifier: Apache-2.0
// The kernels of a program explained as they are made: group, the schedules that were weighed and
// what each lost by, what staging and packing look like, how blocks and lanes share the work, and
// the kernel.
#pragma once

#include <cstddef>
#include <string>

#include "poly/group.h"
#include "report/layers.h"
#include "report/sections.h"
#include "runtime/device.h"
#include "runtime/store/record_store.h"
#include "target/target.h"

namespace tilefuse::report {

struct ScheduleOptions {
  Target target;
  std::size_t candidates = 5;
  // With a device, whose target `target` must be: kernels are explained as they are compiled for
  // it, by its tuning records where there are any.
  runtime::Device *device = nullptr;
  runtime::RecordStore *records = nullptr;
  bool tf32 = false;           // products of f32 may be rounded to tf32
  std::string split = "auto";  // of reductions (search/network/split_groups.h)
  std::string layout = "auto"; // of activations (search/network/layout_choice.h)
  Sections sections;
};

// One group, without its program. With a device it is measured there.
struct ExplainedGroup {
  std::string verdict; // with a device: its time, and who chose its schedule
  std::string sections;
};
ExplainedGroup explain_group(const poly::Group &group, const ScheduleOptions &options,
                             int number = 0);

// All kernels of a program that is simplified already and must outlive the result.
Explanation explain_with_model(const program::Program &program, const ScheduleOptions &options);

} // namespace tilefuse::report
