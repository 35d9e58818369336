// SPDX-License-Identifier: Apache-2.0
// Time of a nest with explicit vectors, on cores with caches of their own, one block at a time.
#pragma once

#include "cost/demand.h"
#include "cost/estimate.h"
#include "cost/vector/vector_traffic.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// What cost::predict says of it; with `whole` the nest is a tile anywhere in it, whose results stay
// local. Requires a legal schedule.
Estimate predict_vector(const nest::Nest &nest, const schedule::Schedule &schedule,
                        const Target &target, const nest::Nest *whole = nullptr);
// Of the estimate what is told of a register tile before blocks are made of its steps: seconds to
// compute, to store and, if asked for, to refill, by block; blocks; and those of the launch.
Estimate predict_vector_tile(const nest::Nest &nest, const schedule::Schedule &schedule,
                             const Target &target, bool with_refill);

// Prices of schedules that differ in the tiles of their outputs alone. What steps do is told once
// where it is the same in blocks of any size, as it is where nothing is staged.
class VectorPrices {
public:
  // `schedule` is one of them. Keeps references to the others.
  VectorPrices(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);
  VectorPrices(const VectorPrices &) = delete;
  VectorPrices &operator=(const VectorPrices &) = delete;
  // What cost::predict says of a schedule that is legal, perhaps without reasons.
  Estimate of(const schedule::Schedule &schedule) const;

private:
  const nest::Nest &nest_;
  const schedule::Schedule first_;
  const Target &target_;
  const VectorSteps steps_;
  const StepTraffic step_;
  const bool is_alike_; // in blocks of any size
};

// What cost::demands says of it.
Demands vector_demands(const nest::Nest &nest, const schedule::Schedule &schedule,
                       const Target &target);

} // namespace tilefuse::cost
