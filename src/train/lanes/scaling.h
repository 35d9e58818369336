// SPDX-License-Identifier: Apache-2.0
// How a step grows with workers, on paper: one worker's step, and what the exchange of its learned
// numbers adds. With S bytes, of which
// parts travel as P, r workers of a host, M hosts:
//
//   exchange = (r - 1)/r (P + S)/B_host(r) + (M - 1)/M (P + S)/r/B_net + 2 log2(M) a
//   slowest  = jitter sqrt(2 ln R) of a step: the expected maximum of R normal deviations
//
// Rates are those of hosts with 8 H100 (bus bandwidths that NCCL reaches there) and of a network of
// 400 Gb/s per GPU. Beside the backward pass only the rest counts that does not fit into it, or the last
// bucket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilefuse::train {

struct ScalingRow {
  int workers = 1;
  double exchange_ms = 0;
  // One worker's time over that of a step, whose exchange runs beside the backward pass, or behind it.
  double beside = 1;
  double behind = 1;
};

struct ScalingStep {
  double seconds = 0;        // of a step of one worker, without an exchange
  std::int64_t bytes = 0;    // that are exchanged, as sums
  std::int64_t pictures = 0; // of a worker's step
  double parts = 1;          // bytes of what is summed for each of `bytes`: steps.parts
};

// For 1, 2, 4, … workers up to `most`.
std::vector<ScalingRow> scaling(const ScalingStep &step, int most);
// The table, what it assumes, and what was measured beside what the same formula says of that.
std::string scaling_text(const ScalingStep &step, int most);

} // namespace tilefuse::train
