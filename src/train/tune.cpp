// SPDX-License-Identifier: Apache-2.0
#include "train/tune.h"

#include "base/error.h"
#include "model/precision.h"
#include "train/setup.h"
#include "train/step_program.h"

namespace tilefuse::train {

model::TuneReport tune_step(const Recipe &recipe, runtime::Device &device,
                            runtime::KernelCache &cache, runtime::RecordStore &records,
                            model::TuneOptions options) {
  if (recipe.precision == "tf32")
    throw Error(ErrorCode::Unsupported, "tuning keeps to the arithmetic of the recipe, not tf32",
                {}, {"precision f16 and bf16 can be tuned"});
  const Setup setup(recipe);
  const program::Program gradients = gradients_program(setup.model, setup.pool, setup.task).program;
  const model::AppliedPrecision applied = model::apply_precision(
      gradients, recipe.precision == "f32" ? "" : recipe.precision, device.target());
  options.is_simplified = applied.is_simplified;
  return model::tune_model(applied.program, device, cache, records, options);
}

} // namespace tilefuse::train
