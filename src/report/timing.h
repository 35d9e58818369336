// SPDX-License-Identifier: Apache-2.0
// How long runs of a model took, as one number with its spread.
//
//   time     median 3.900 ms, p10 3.851, p90 4.020, p99 4.100, 50 runs; …
//   rate     256.4 a second, 1 at a time
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/session_stats.h"
#include "report/document.h"

namespace tilefuse::report {

struct Timing {
  std::vector<double> seconds; // of each run, ascending; not empty
  std::int64_t batch = 1;      // places of a run
  // The smallest that `share` of the runs do not exceed.
  double quantile(double share) const;
};

// Median and spread, beside what the kernels take by themselves, and places a second.
void add_timing(Document &document, const Timing &timing,
                std::span<const model::KernelReport> kernels);

} // namespace tilefuse::report
