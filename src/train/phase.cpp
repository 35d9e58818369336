// SPDX-License-Identifier: Apache-2.0
#include "train/phase.h"

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::train {
namespace {

model::SessionOptions with(model::SessionOptions options, const model::AppliedPrecision &applied) {
  options.tf32 = applied.tf32;
  options.is_simplified = applied.is_simplified;
  return options;
}

program::BufferId buffer_of(const model::Resident &resident, program::TensorId id) {
  return resident.compiled().stored.windows[at(id)].buffer;
}

} // namespace

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

void check_in_place(const model::Resident &resident, std::size_t input, std::size_t output) {
  const program::Program &program = resident.compiled().stored.program;
  const program::BufferId from = buffer_of(resident, program.inputs.at(input));
  const program::BufferId to = buffer_of(resident, program.outputs.at(output));
  const std::vector<std::vector<model::PlannedArgument>> &launches = resident.plan().launches;
  const auto uses = [&](std::size_t launch, program::BufferId buffer) {
    for (const model::PlannedArgument &argument : launches[launch])
      if (argument.constant < 0 && argument.buffer == buffer)
        return true;
    return false;
  };
  bool is_written = false; // by an earlier launch
  for (std::size_t k = 0; k < launches.size(); ++k) {
    TILEFUSE_CHECK(!is_written || !uses(k, from), "a state is read behind its next value");
    is_written |= uses(k, to);
  }
}

} // namespace tilefuse::train
