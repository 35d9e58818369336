// SPDX-License-Identifier: Apache-2.0
// A step's second program: from parameters, gradients and what the optimiser keeps to the next ones,
// all as rows of kRow floats.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "train/parameters.h"

namespace tilefuse::train {

// What lives from step to step: an input of the program whose next value is an output. It may lie in
// one place, since each kernel reads only the elements that it writes, and nothing reads it after.
struct State {
  std::string name; // "parameters", "momentum", "loss scale", …
  std::size_t input = 0;
  std::size_t output = 0;
  bool is_whole = false; // all workers have it whole, though each updates its own rows alone
};

inline constexpr const char *kParameters = "parameters";
inline constexpr const char *kAverage = "average"; // of the parameters, over the steps

// What an input holds in every step.
struct RowNumbers {
  std::size_t input = 0;
  program::Bytes bytes;
};

struct UpdateProgram {
  program::Program program;
  std::vector<State> states;
  std::vector<RowNumbers> rows;
  std::size_t learned = 0; // the input that gradients and statistics come by
  std::size_t own = 0;  // the same of the rows that are updated; the same input where these are all
  std::size_t rate = 0; // the learning rate's
  std::size_t square = 0; // the output that is the sum of squares of scaled gradients: finite where
                          // the step was made
};

// Inputs are rows [R, kRow] or one number [1]; states of rows are those of `own`. Optimisers: "sgd",
// "adamw", "lars", "lamb". `ema`: the decay of a moving average of the parameters; 0: none is kept.
UpdateProgram update_program(const ParameterPool &pool, const Recipe::Optimizer &optimizer,
                             double ema, bool scales_loss, const RowRange &own);

} // namespace tilefuse::train
