// SPDX-License-Identifier: Apache-2.0
// What a recipe stands for, read and put together: the model, the pictures, and what is trained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/buffer.h"
#include "data/loader.h"
#include "data/source.h"
#include "onnx/import.h"
#include "train/parameters.h"
#include "train/step_program.h"

namespace tilefuse::train {

struct Setup {
  // Checks the recipe, reads model and data, which needs no device. Error{Syntax} of the check,
  // Error{Io|Shape|Unsupported} for what cannot be read or does not fit together.
  Setup(const Recipe &recipe); // wherever one is wanted, a recipe will do

  Recipe recipe;
  // Of the model that the recipe names, with a new head where it says so.
  std::shared_ptr<const Buffer> bytes;
  onnx_import::Model model;
  std::unique_ptr<onnx_import::Model> teacher; // may be null
  std::unique_ptr<data::Source> training;
  std::unique_ptr<data::Source> test; // may be null
  ParameterPool pool;
  Task task;
  StepProgram step_program; // gradients_program of them, in the recipe's precision

  std::int64_t steps_per_epoch() const { return training->count() / recipe.steps.pictures(); }
  std::int64_t steps() const; // of the whole run
  // Gradients of half precision are made of a loss that is scaled up, lest they vanish.
  bool scales_loss() const { return recipe.precision == "f16"; }
  double first_scale() const { return scales_loss() ? 65536 : 1; } // PyTorch's GradScaler's
  // Where the model's data beside it lie.
  std::string folder() const;
  // What a parameter is before the first step, in f32.
  program::HostTensor initial(const onnx_import::Parameter &parameter) const;
  // The same where the model has it so, which need not be copied; else none.
  std::optional<std::span<const std::byte>>
  initial_in_place(const onnx_import::Parameter &parameter) const;
};

// What `text`, a recipe's data.train or data.test, names; null where it is empty.
std::unique_ptr<data::Source> open_pictures(const Recipe &recipe, const std::string &text);
Task task_of(const Recipe &recipe, const data::Source &source);

// Steps that a loader gives batches of: from `first` to the last of `steps`.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t steps = 0; // of the whole run
};
// Of each step those lanes that `rank` of `workers` workers has; `branches` are the step's
// (StepProgram).
data::LoaderOptions loader_options(const Recipe &recipe, const StepRange &range, int workers,
                                   int rank, std::int64_t branches);

} // namespace tilefuse::train
