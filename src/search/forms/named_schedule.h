// SPDX-License-Identifier: Apache-2.0
// The schedule of a named algorithm, or why the algorithm does not fit; and which of many it is.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"

namespace tilefuse::search {

using nest::Nest;
using schedule::Schedule;

struct NamedSchedule {
  std::optional<Schedule> schedule;
  std::string refusal; // why the algorithm does not fit, when there is no schedule
};

inline NamedSchedule misfit(std::string_view name, std::string_view why) {
  return {{}, fmt::format("{} does not fit: {}", name, why)};
}

// Of schedules with larger tiles first, the first that still gives every multiprocessor one of what
// `count` counts, or the one with most.
template <typename Count>
const Schedule &filling(const std::vector<Schedule> &all, const Target &target,
                        const Count &count) {
  const auto first = std::find_if(all.begin(), all.end(), [&](const Schedule &each) {
    return count(each) >= target.compute_units;
  });
  if (first != all.end())
    return *first;
  return *std::max_element(all.begin(), all.end(),
                           [&](const auto &a, const auto &b) { return count(a) < count(b); });
}

} // namespace tilefuse::search
