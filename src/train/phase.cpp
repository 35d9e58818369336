// SPDX-License-Identifier: Apache-2.0
#include "train/phase.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::train {
namespace {

program::BufferId buffer_of(const model::Resident &resident, program::TensorId id) {
  return resident.compiled().stored.windows[at(id)].buffer;
}

bool uses(const std::vector<model::PlannedArgument> &launch, program::BufferId buffer) {
  return std::any_of(launch.begin(), launch.end(), [&](const model::PlannedArgument &argument) {
    return argument.constant < 0 && argument.buffer == buffer;
  });
}

} // namespace

model::SessionOptions with(model::SessionOptions options, const model::AppliedPrecision &applied) {
  options.is_simplified = applied.is_simplified;
  return options;
}

Phase::Phase(const program::Program &program, const Compilation &compilation,
             std::span<const model::PlacedPort> placed)
    : Phase(model::apply_precision(program,
                                   compilation.precision == "f32" ? "" : compilation.precision,
                                   compilation.device.target()),
            compilation, placed) {}

Phase::Phase(const model::AppliedPrecision &applied, const Compilation &compilation,
             std::span<const model::PlacedPort> placed)
    : resident_(applied.program, compilation.device, compilation.cache,
                with(compilation.session, applied)),
      execution_(resident_, placed) {}

void Phase::write(std::size_t input, std::span<const std::byte> from) {
  resident_.device().write(execution_.own({false, input}), from);
}

float Phase::number(std::size_t output) {
  float value = 0;
  resident_.device().read(execution_.own({true, output}),
                          std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::vector<model::KernelReport> in_order(std::span<const Profiled> programs) {
  std::vector<model::KernelReport> kernels;
  int before = 0;
  for (const Profiled &each : programs) {
    const double end = kernels.empty() ? 0 : kernels.back().begin + kernels.back().seconds;
    for (model::KernelReport kernel : each.kernels) {
      kernel.number += before;
      kernel.begin += end;
      kernels.push_back(std::move(kernel));
    }
    for (const model::CompiledLaunch &launch : each.program->compiled().launches)
      before += static_cast<int>(launch.launch.parts.size());
  }
  return kernels;
}

std::size_t launches_using(const model::Resident &resident, std::size_t output) {
  const program::BufferId buffer =
      buffer_of(resident, resident.compiled().stored.program.outputs.at(output));
  std::size_t count = resident.plan().launches.size();
  while (count > 0 && !uses(resident.plan().launches[count - 1], buffer))
    --count;
  return count;
}

void check_in_place(const model::Resident &resident, std::size_t input, std::size_t output) {
  const program::Program &program = resident.compiled().stored.program;
  const program::BufferId from = buffer_of(resident, program.inputs.at(input));
  const program::BufferId to = buffer_of(resident, program.outputs.at(output));
  const std::vector<std::vector<model::PlannedArgument>> &launches = resident.plan().launches;
  bool is_written = false; // by an earlier launch
  for (std::size_t k = 0; k < launches.size(); ++k) {
    TILEFUSE_CHECK(!is_written || !uses(launches[k], from),
                   "a state is read behind its next value");
    is_written |= uses(launches[k], to);
  }
}

} // namespace tilefuse::train
