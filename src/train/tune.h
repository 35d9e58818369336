// SPDX-License-Identifier: Apache-2.0
// Schedules of a training step measured on a device, and the best recorded, where a later run finds them.
#pragma once

#include "model/tune/tune.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "runtime/store/record_store.h"
#include "train/recipe.h"

namespace tilefuse::train {

// Of the program that makes the gradients, by launch order. The update is left as it is: its kernels are maps of
// all parameters. Error{…} as tune_model, and Error{Unsupported} where the recipe's precision is tf32.
model::TuneReport tune_step(const Recipe &recipe, runtime::Device &device,
                            runtime::KernelCache &cache, runtime::RecordStore &records,
                            model::TuneOptions options);

} // namespace tilefuse::train
