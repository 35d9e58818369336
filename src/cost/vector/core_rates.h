// SPDX-License-Identifier: Apache-2.0
// How a processor core reaches the peak that its target row states: what it starts per cycle and
// what its caches give. The row has the peak, the vector width and the cache sizes; the rest is the
// same for the x86-64 cores with two multiply-add units (Intel since Haswell, AMD since Zen 2) and
// stands here.
#pragma once

#include "target/target.h"

namespace tilefuse::cost {

struct CoreRates {
  double hertz = 3e9;         // the clock at which the row's peak is reached
  double fma_per_cycle = 2;   // vector multiply-adds started
  double loads_per_cycle = 2; // of one vector register
  double issue_per_cycle = 5; // instructions of any kind
  double fma_latency = 4;     // cycles until a result can be added to
  double l1_ways = 8;
  double l2_ways = 16;
  double l2_bytes_per_cycle = 40;   // second to first level, as a stream
  double l3_bytes_per_s = 100e9;    // third to second level, of one core
  double l3_bytes = 6 << 20;        // of the third level, that one core can count on
  double memory_bytes_per_s = 40e9; // of one core, in long runs
};

CoreRates core_rates(const Target &target);
// Dot products of full vectors, or of full registers of rows, that a core starts per cycle.
// Requires that the target has them.
double dots_per_cycle(const Target &target, const DotOp &op);

} // namespace tilefuse::cost
