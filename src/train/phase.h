// SPDX-License-Identifier: Apache-2.0
// A program of a step, compiled, with its ports in memory of the trainer's. The caller's pools hold
// what outlives it; the rest lies in memory of its own.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/execution.h"
#include "model/precision.h"
#include "model/profile.h"
#include "model/resident.h"
#include "runtime/store/kernel_cache.h"

namespace tilefuse::train {

// For what and how programs are compiled.
struct Compilation {
  runtime::Device &device;
  runtime::KernelCache &cache;
  std::string precision = "f32"; // or f16, bf16, tf32 (model/precision.h)
  model::SessionOptions session;
};

// How what a precision was applied to is compiled.
model::SessionOptions with(model::SessionOptions options, const model::AppliedPrecision &applied);

class Phase {
public:
  // Device and cache outlive the phase, and so does what ports are placed in.
  Phase(const program::Program &program, const Compilation &compilation,
        std::span<const model::PlacedPort> placed);

  std::span<runtime::Launchable *const> kernels() const { return execution_.kernels(); }
  const model::Resident &resident() const { return resident_; }
  std::int64_t activation_bytes() const { return execution_.bytes(); }

  // Times of its kernels by the device's clock: of `passes` runs, that of median length.
  std::vector<model::KernelReport> profile(int passes) {
    return model::profile(resident_, execution_, passes).kernels;
  }
  void launch() { execution_.launch(); }
  void write(std::size_t input, std::span<const std::byte> from);
  // Where an input lies that no port is placed in.
  runtime::Binding input(std::size_t number) const { return execution_.own({false, number}); }
  // The first number of an f32 output; waits for what is queued.
  float number(std::size_t output);

private:
  Phase(const model::AppliedPrecision &applied, const Compilation &compilation,
        std::span<const model::PlacedPort> placed);

  model::Resident resident_;
  model::Execution execution_;
};

// The kernels of a program, as profiled.
struct Profiled {
  const model::Resident *program = nullptr;
  std::vector<model::KernelReport> kernels;
};
// Of programs that are launched one behind the other, numbered through.
std::vector<model::KernelReport> in_order(std::span<const Profiled> programs);

// How many launches there are up to the last one that touches an output.
std::size_t launches_using(const model::Resident &resident, std::size_t output);

// That the next value of a state may lie in the state's own place: no kernel reads the input behind
// the first that has to do with the output. Else it is a bug of ours.
void check_in_place(const model::Resident &resident, std::size_t input, std::size_t output);

} // namespace tilefuse::train
