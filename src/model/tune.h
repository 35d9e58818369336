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

#include "model/fusion.h"
#include "program/program.h"
#include "runtime/device.h"
#include "runtime/kernel_cache.h"
#include "runtime/record_store.h"

namespace tilefuse::model {

struct TuneProgress {
  double elapsed = 0; // seconds
  double budget = 0;
  double model_seconds = 0; // one run of the kernels that are tuned, by the cost model's choices
  double best_seconds = 0;  // the same by the best known
  std::size_t tried = 0;
  std::string kernel; // being tuned
};

struct TuneOptions {
  double budget = 60; // seconds in all
  FusionSettings fusion;
  std::string layout = "auto"; // of activations (model/layout_choice.h)
  std::vector<int> kernels;    // numbers in launch order; empty: all
  std::function<void(const TuneProgress &)> progress;
  std::function<void(const std::string &)> warn;
};

// One distinct kernel.
struct TunedKernel {
  int number = 0; // of its first launch
  int launches = 1;
  std::string name; // of the best
  std::string origin;
  std::size_t tried = 0;    // candidates, those of earlier runs too
  double model_seconds = 0; // one launch
  double best_seconds = 0;
  std::string source; // of the best: "model", "record", "ranking", "neighbour", "start from …"
  bool is_recorded = false;
};

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
