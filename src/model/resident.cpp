// SPDX-License-Identifier: Apache-2.0
#include "model/resident.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "model/compile.h"
#include "model/dump.h"
#include "model/plan/pack.h"
#include "model/tune/records.h"

namespace tilefuse::model {
namespace {

using program::BufferId;
using program::HostTensor;

constexpr std::int64_t kLeastBytesToShare = 1 << 20; // of constants, that several threads pack

std::vector<HostTensor> describe(const program::Program &program,
                                 const std::vector<program::TensorId> &ids) {
  std::vector<HostTensor> tensors;
  for (program::TensorId id : ids)
    tensors.push_back({program[id].name, program[id].type, program[id].shape, {}});
  return tensors;
}

} // namespace

Resident::Resident(const program::Program &program, runtime::Device &device,
                   runtime::KernelCache &cache, const SessionOptions &options)
    : device_(&device) {
  const Stopwatch watch;
  inputs_ = describe(program, program.inputs);
  outputs_ = describe(program, program.outputs);
  compiled_ = compile(program, device, cache, options);
  plan_ = make_plan(compiled_, device.alignment());
  if (!options.dump_directory.empty())
    dump_plan(options.dump_directory, to_text(plan_, compiled_));
  const Stopwatch weights;
  weights_ = device.allocate(std::max<std::int64_t>(plan_.weight_bytes, 1));
  upload_constants();
  stats_.start = compiled_.seconds;
  stats_.start.weights = weights.seconds();
  count();
  stats_.compile_seconds = watch.seconds();
}

runtime::Binding Resident::constant(int number) const {
  const PlannedConstant &constant = plan_.constants[at(number)];
  return {weights_.get(), constant.offset, constant.elems * size_bytes(constant.type)};
}

const program::Bytes &Resident::constant_data(BufferId id) const {
  for (std::size_t t = 0; t < compiled_.stored.windows.size(); ++t) {
    const program::Tensor &tensor = compiled_.stored.program.tensors[t];
    if (compiled_.stored.windows[t].buffer == id && tensor.role == program::Role::Constant) {
      if (tensor.data)
        return *tensor.data;
      throw Error(ErrorCode::Type, "a constant of the program has no data", tensor.name);
    }
  }
  internal_error("a constant buffer without a tensor", __FILE__, __LINE__);
}

// Constants are packed side by side, and written by the thread that the device knows.
void Resident::upload_constants() {
  std::vector<program::Bytes> packed(plan_.constants.size());
  ThreadPool pool(plan_.weight_bytes < kLeastBytesToShare ? 1 : available_threads());
  pool.parallel_for(static_cast<std::int64_t>(packed.size()), [&](int, std::int64_t i) {
    const PlannedConstant &constant = plan_.constants[at(i)];
    if (constant.launch < 0)
      return;
    const CompiledLaunch &launch = compiled_.launches[at(constant.launch)];
    const launch::Part &part = launch.launch.parts[constant.packed.part];
    packed[at(i)] =
        pack(part.placed.group, part.schedule, constant.packed.arg, constant_data(constant.buffer));
  });
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const bool is_packed = plan_.constants[i].launch >= 0;
    device_->write(constant(static_cast<int>(i)),
                   is_packed ? packed[i] : constant_data(plan_.constants[i].buffer));
    packed[i] = {};
  }
}

void Resident::count() {
  stats_.kernels = static_cast<int>(compiled_.launches.size());
  stats_.compiled = compiled_.built;
  stats_.searched = compiled_.searched;
  stats_.layout = compiled_.layout;
  stats_.conversions = compiled_.conversions;
  for (const CompiledLaunch &each : compiled_.launches)
    for (const launch::Part &part : each.launch.parts)
      stats_.tuned += part.chosen_by == kTuned ? 1 : 0;
  stats_.weight_bytes = plan_.weight_bytes;
  stats_.arena_bytes = plan_.activation_bytes;
}

} // namespace tilefuse::model
