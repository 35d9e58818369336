// SPDX-License-Identifier: Apache-2.0
#include "train/verify.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/precision.h"
#include "train/gradients.h"
#include "train/setup.h"
#include "train/step_program.h"
#include "train/update_program.h"

namespace tilefuse::train {
namespace {

using program::HostTensor;

HostTensor tensor_of(const program::Tensor &form, const void *data) {
  HostTensor tensor = program::make_host_tensor(form.name, form.type, form.shape);
  std::memcpy(tensor.data.data(), data, tensor.data.size());
  return tensor;
}

// What the first step reads.
std::vector<HostTensor> first_inputs(const Setup &setup, const StepProgram &step) {
  const program::Program &program = step.program;
  data::Loader loader(*setup.training, loader_options(setup.recipe, {0, 1}, 1, 0, step.branches));
  const data::Batch &batch = loader.next();
  std::vector<HostTensor> inputs;
  inputs.push_back(tensor_of(program[program.inputs[0]], batch.pixels.data()));
  inputs.push_back(tensor_of(program[program.inputs[1]], batch.labels.data()));
  if (!batch.drawn.empty())
    inputs.push_back(tensor_of(program[program.inputs[2]], batch.drawn.data()));
  for (const PooledParameter &entry : setup.pool.entries)
    inputs.push_back(setup.initial(entry.parameter));
  const float scale = static_cast<float>(setup.first_scale());
  inputs.push_back(tensor_of(program[program.inputs.back()], &scale));
  return inputs;
}

model::VerifyReport verify(const model::AppliedPrecision &applied,
                           const std::vector<HostTensor> &inputs, runtime::Device &device,
                           runtime::KernelCache &cache, model::VerifyOptions options) {
  options.session.is_simplified = applied.is_simplified;
  return model::verify_model(applied.program, inputs, device, cache, options);
}

// Of random numbers each.
model::VerifyReport verify_segments(const StepProgram &step, const std::string &precision,
                                    runtime::Device &device, runtime::KernelCache &cache,
                                    model::VerifyOptions options) {
  const CutStep cut = cut_step(step, precision, device.target());
  options.session = with(options.session, cut.applied);
  model::VerifyReport all;
  for (const Segment &segment : cut.segments) {
    const model::VerifyReport one =
        model::verify_model(segment.program, {}, device, cache, options);
    all.kernels += one.kernels;
    all.compared += one.compared;
    all.largest_share = std::max(all.largest_share, one.largest_share);
    if (!all.fault)
      all.fault = one.fault;
  }
  return all;
}

} // namespace

StepVerification verify_step(const Recipe &recipe, runtime::Device &device,
                             runtime::KernelCache &cache, const model::VerifyOptions &options) {
  const Setup setup(recipe);
  const StepProgram &step = setup.step_program;
  const UpdateProgram update = update_program(setup.pool, recipe.optimizer, recipe.keep.ema,
                                              setup.scales_loss(), {0, setup.pool.rows});
  StepVerification result;
  result.gradients = step.lane_sums > 0
                         ? verify_segments(step, recipe.precision, device, cache, options)
                         : verify(cut_step(step, recipe.precision, device.target()).applied,
                                  first_inputs(setup, step), device, cache, options);
  result.update = verify({.program = update.program}, {}, device, cache, options);
  return result;
}

} // namespace tilefuse::train
