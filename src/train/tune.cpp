// SPDX-License-Identifier: Apache-2.0
#include "train/tune.h"

#include "base/error.h"
#include "train/gradients.h"
#include "train/setup.h"

namespace tilefuse::train {

model::TuneReport tune_step(const Recipe &recipe, runtime::Device &device,
                            runtime::KernelCache &cache, runtime::RecordStore &records,
                            model::TuneOptions options) {
  const Setup setup(recipe);
  const CutStep cut = cut_step(setup.step_program, recipe.precision, device.target());
  if (cut.segments.size() > 1)
    throw Error(ErrorCode::Unsupported,
                "a step whose lanes are normalised together is many programs; tuning takes one", {},
                {"parameters.batch_norm = \"train\" can be tuned"});
  options.is_simplified = cut.applied.is_simplified;
  return model::tune_model(cut.applied.program, device, cache, records, options);
}

} // namespace tilefuse::train
