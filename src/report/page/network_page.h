// SPDX-License-Identifier: Apache-2.0
// What a page shows of a model on a device, or planned for a target that is not there: values that
// `explain` and `bench` print too. html/ makes pages of them and works nothing out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/compiled.h"
#include "model/plan/plan.h"
#include "model/profile.h"
#include "report/document.h"
#include "report/page/dataflow.h"
#include "report/page/tiling.h"
#include "report/schedule_report.h"
#include "report/timing.h"

namespace tilefuse::report {

// One kernel of a model.
struct KernelPage {
  int number = 0;
  std::size_t launch = 0;
  std::string name; // of its launch's kernel
  std::string origin;
  std::vector<std::string> notes; // what was decided about it
  ExplainedGroup explained;
  std::string schedule_text;
  Tiling tiling;
};

// The best that the units of a schedule can do.
struct UnitPeak {
  std::string name;
  double flops_per_s = 0;
  friend bool operator==(const UnitPeak &, const UnitPeak &) = default;
};

struct NetworkPage {
  std::string model;
  std::string device; // its name, or the target's
  Document summary;   // of the device, times, memory and what to do
  std::optional<Timing> timing;
  std::vector<std::string> advice;
  model::Profile profile;
  std::vector<double> predicted; // by launch, seconds
  std::vector<UnitPeak> peaks;
  std::vector<Flow> flows;
  model::Plan plan;
  std::vector<KernelPage> kernels;
};

// What is known of a compiled model. `how.candidates` of 0 weighs nothing but the choices.
NetworkPage network_page(const model::Compiled &compiled, const model::Plan &plan,
                         model::Profile profile, const ScheduleOptions &how);

} // namespace tilefuse::report
