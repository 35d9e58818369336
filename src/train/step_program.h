// SPDX-License-Identifier: Apache-2.0
// The programs of a training step. Parameters are inputs: during a step's first program, which makes
// gradients, they do not change; the second, update_program.h, makes the next ones of them. What is
// derived from them (narrowed types, packed filters) is part of the first, so nothing goes stale.
#pragma once

#include <cstdint>
#include <vector>

#include "data/source.h"
#include "onnx/import.h"
#include "program/program.h"
#include "train/parameters.h"

namespace tilefuse::train {

// What steps read, and how they judge it.
struct Task {
  std::int64_t batch = 1;
  data::PictureForm picture;
  std::vector<double> mean; // per channel, of pixels in [0, 1]; none: 0
  std::vector<double> std;  // the same; none: 1
  Recipe::Loss loss;
  const onnx_import::Model *teacher = nullptr; // that outlives the task; null: none
  bool rounds_gradients = false;               // to numbers that bf16 has
  bool is_mixed = false;                       // pictures are mixed (data/mix.h)
  bool drops_paths = false;                    // residual branches are left out (data/drop_path.h)
  std::int64_t lanes = 1;                      // whose batches are normalised together
};

struct StepProgram {
  program::Program program;  // of gradients: simplified (model/passes.h)
  std::size_t fed = 2;       // the first inputs, which are a batch's
  std::int64_t classes = 0;  // that the model tells apart; labels are below
  std::int64_t branches = 0; // residual ones, that are left out of some pictures
  std::size_t lane_sums = 0; // the last outputs, of one lane, and over all lanes the last inputs
};

// Inputs: pictures u8[N, H, W, C], labels i32[N], what is drawn for them, where anything is, f32[D]
// (data::Batch), the pool's parameters in order, the loss scale f32[1]. Outputs: by parameter its gradient times the scale, or of a statistic the batch's; then
// loss f32[1], the mean over the batch, and hits f32[1], how many pictures are classified right.
// With several lanes, lane sums follow: first the normalisations', then the gradients by what they
// are over all lanes, in the same order.
StepProgram gradients_program(const onnx_import::Model &model, const ParameterPool &pool,
                              const Task &task);

// Inputs: pictures, labels (-1: the picture does not count), parameters. Outputs: loss and hits, as
// above, without what training alone does.
StepProgram evaluation_program(const onnx_import::Model &model, const ParameterPool &pool,
                               const Task &task);

} // namespace tilefuse::train
