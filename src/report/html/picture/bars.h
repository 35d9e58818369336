// SPDX-License-Identifier: Apache-2.0
// Times of one kernel as bars: measured against predicted and what the device allows; what each
// resource demands; schedules against each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/demand.h"
#include "report/html/markup.h"
#include "report/verdict.h"

namespace tilefuse::report::html {

// Measured as a bar, predicted as a mark, the roofline as a band.
void bullet_bar(Markup &out, const Verdict &verdict);

// A bar for each resource, against the predicted time.
void demand_bars(Markup &out, const cost::Demands &demands, double predicted);

struct NamedTime {
  std::string name;
  double seconds = 0;
  std::string css; // class of its bar
};
void time_comparison(Markup &out, std::span<const NamedTime> times, std::string_view says);

} // namespace tilefuse::report::html
