// SPDX-License-Identifier: Apache-2.0
// Measures schedules of a network's kernels on a device and records the best. Every round times the
// cost model's choice, the best so far and some candidates side by side; a candidate that wins is
// verified against the evaluator, then recorded. What was tried is noted as it goes: a run that was
// killed is taken up by the next one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "model/tune/tune_options.h"
#include "program/program.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "runtime/store/record_store.h"

namespace tilefuse::model {

struct TuneReport {
  double seconds = 0;
  std::vector<TunedKernel> kernels; // in launch order; those that the budget reached
  int wrong = 0;                    // candidates that computed something wrong
};

// Error{Unsupported} when a kernel's number is out of range, Error{Device} when the device cannot
// run the cost model's choices.
TuneReport tune_model(const program::Program &program, runtime::Device &device,
                      runtime::KernelCache &cache, runtime::RecordStore &records,
                      const TuneOptions &options);

// How near the cost model's choices come to the best known: the geometric mean of best over model,
// of the kernels for which something was tried.
double model_share(const TuneReport &report);

} // namespace tilefuse::model
