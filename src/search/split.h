// SPDX-License-Identifier: Apache-2.0
// Whether a nest's reduction is done in two kernels, and in how many parts: by the predicted time
// of the whole nest against that of the partial and the joining nest, each with its launch. A split
// is weighed where the whole nest is predicted to stay well above what the device's arithmetic and
// memory allow, because its grid leaves units idle or its reduction is long; on a processor also
// where what the reduction reads again is more than half of a second-level cache keeps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nest/flatten/split.h"
#include "search/pick.h"
#include "target/target.h"

namespace tilefuse::search {

// How a nest would be scheduled, and in what time; nothing where that is not below so many seconds
// and was not found out (Searches::best_below). Searches of the parts of one split are shared.
using Picker =
    std::function<std::optional<Candidate>(const nest::Nest &, Searches &, double seconds)>;

// Where parts are joined: in a launch of their own, or by the last block of the launch that
// computes them (schedule/tile_join.h), where it can.
enum class JoinIn { Either, OwnLaunch, SameLaunch };

// A prediction is of a kernel by itself; networks submit all of theirs together.
double following_seconds(const cost::Estimate &estimate, const Target &target);

struct WeighedSplit {
  nest::ReductionSplit split; // empty: the whole nest
  JoinIn join = JoinIn::OwnLaunch;
  double seconds = 0; // of the only kernel, or of the partial one
  double join_seconds = 0;
  // Seconds more where another thread takes half of a core's second-level cache.
  double crowded = 0;
  double total() const { return seconds + join_seconds; }
  double crowded_total() const { return total() + crowded; }
};

struct SplitChoice {
  nest::ReductionSplit split;      // empty: none
  JoinIn join = JoinIn::OwnLaunch; // not Either
  // The whole nest first, then splits whose time was found out; empty when nothing was weighed.
  std::vector<WeighedSplit> weighed;
};

SplitChoice choose_split(const nest::Nest &nest, const Target &target, const Picker &picker,
                         JoinIn join = JoinIn::Either);
// Where the parts of a given split are joined.
JoinIn choose_join(const nest::Nest &nest, const nest::ReductionSplit &split, const Target &target,
                   const Picker &picker, JoinIn join);

// One line per split that was weighed, the chosen one marked; nothing when only the whole nest was.
std::string to_text(const nest::Nest &nest, const SplitChoice &choice);

} // namespace tilefuse::search
