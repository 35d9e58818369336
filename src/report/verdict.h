// SPDX-License-Identifier: Apache-2.0
// Why a kernel takes as long as it does and what can be done, before any detail:
//
//   measured  38.1 us on this device, 84 % of its roofline, which arithmetic sets
//   tuned     36.1 us, beside 38.2 us of the model's choice, on 2026-11-21
//   predicted 60.3 us, bound by load ports: 55.1 us, then multiply-add ports 31.0
//   try       tune --kernel 3: schedules are not measured on this device yet (at most 6.1 us)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/demand.h"
#include "poly/group.h"
#include "report/candidates.h"
#include "report/table.h"
#include "runtime/device.h"
#include "runtime/store/record_store.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

// A kernel's time on a device, and what that allows.
struct MeasuredKernel {
  double seconds = 0;
  double roofline = 0; // share
  std::string limit;   // "arithmetic" or "memory"
};
// By itself on random data. Nothing where no code can be generated for the device.
std::optional<MeasuredKernel> measure(const poly::Group &group, const schedule::Schedule &schedule,
                                      runtime::Device &device);

// What tuning measured side by side, as its record has it.
struct TunedTimes {
  double seconds = 0;       // of the best schedule
  double model_seconds = 0; // of the cost model's choice
  std::string date;         // "2026-11-21"
};
// Nothing where the device has no record of the group.
std::optional<TunedTimes> tuned_times(const poly::Group &group, runtime::RecordStore *records,
                                      const runtime::Device *device);

// What to try.
struct Idea {
  std::string text;
  double gain_seconds = 0; // predicted, or at most where `is_most`; 0: not known
  bool is_most = false;
};

struct Verdict {
  std::optional<MeasuredKernel> measured;
  double predicted = 0;  // seconds
  cost::Demands demands; // the most first
  std::vector<Idea> ideas;
  std::optional<TunedTimes> tuned = std::nullopt;
};

// `number` as every verb counts; `weighed` begins with the chosen schedule.
Verdict verdict(int number, bool is_tuned, std::optional<MeasuredKernel> measured,
                std::span<const Weighed> weighed);

// "bound by load ports: 55.1 us, then multiply-add ports 31.0"
std::string bound_text(const Verdict &verdict);
// "tune --kernel 3: … (at most 6.1 us)"
std::string to_text(const Idea &idea);
// "36.1 us, beside 38.2 us of the model's choice, on 2026-11-21"
std::string to_text(const TunedTimes &tuned);
// Its lines, as wide as the terminal.
std::string to_text(const Verdict &verdict, const Style &style = {});

} // namespace tilefuse::report
