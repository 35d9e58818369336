// SPDX-License-Identifier: Apache-2.0
// Every kernel of a training step against the evaluator, on the first batch of the data and the
// parameters that a run would begin with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/oracle/verify.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "train/recipe.h"

namespace tilefuse::train {

struct StepVerification {
  model::VerifyReport
      gradients;              // of the step's first program; where it is cut, random numbers go in
  model::VerifyReport update; // of its second; random numbers go in
};

// Error{…} as Trainer's constructor.
StepVerification verify_step(const Recipe &recipe, runtime::Device &device,
                             runtime::KernelCache &cache, const model::VerifyOptions &options);

} // namespace tilefuse::train
