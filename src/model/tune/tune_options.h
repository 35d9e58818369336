// SPDX-License-Identifier: Apache-2.0
// What a caller of tune_model asks for, and what it is told meanwhile.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/pass_context.h"
#include "search/network/fusion.h"

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
  search::FusionSettings fusion;
  std::string layout = "auto"; // of activations (search/network/layout_choice.h)
  bool is_simplified = false;  // precision was applied to what simplify gave
  PassContext *passes = nullptr;
  std::vector<int> kernels; // numbers in launch order; empty: all
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

} // namespace tilefuse::model
