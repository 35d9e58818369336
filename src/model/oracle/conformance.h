// SPDX-License-Identifier: Apache-2.0
// Is a device's driver to be trusted? A fixed list of small kernels (every scalar operation, every
// conversion between types, staging with barriers, a large buffer), then random ones until the time
// is up; each against the evaluator. And two rates to hold against the device's row.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/oracle/check.h"

namespace tilefuse::model {

struct ConformanceOptions {
  double seconds = 120;
  std::function<void(int done, int total)> progress; // in thousandths of the time
};

struct ConformanceFault {
  std::string what; // which of the list
  Divergence divergence;
  KernelCase reproducer;
};

// A case beyond what the driver runs, as it says itself.
struct ConformanceRefusal {
  std::string what; // which of the list
  std::string why;
};

struct ConformanceReport {
  int fixed = 0;                        // cases run
  int sampled = 0;                      // cases run
  std::vector<ConformanceFault> faults; // at most ten are kept
  std::vector<ConformanceRefusal> refusals;
  double gflops = 0;       // of a matrix product in f32
  double gbytes_per_s = 0; // of a copy, read and written
};

struct NamedCase {
  std::string name;
  KernelCase kernel_case;
  std::int64_t samples = 0; // as Reference takes it
};
// The fixed list.
std::vector<NamedCase> conformance_cases(const Target &target);

ConformanceReport run_conformance(runtime::Device &device, const ConformanceOptions &options);

} // namespace tilefuse::model
