// SPDX-License-Identifier: Apache-2.0
// Ranges of an f32 program's tensors on given inputs, which 8-bit integers need, and how far results
// in other arithmetic are from those in f32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/magnitudes.h"
#include "program/host_tensor.h"
#include "program/program.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"

namespace tilefuse::model {

using Runs = std::vector<std::vector<program::HostTensor>>; // inputs or outputs of each run

// What int8 takes its scales from.
struct CalibrationInputs {
  Runs runs;
  std::string origin; // "3 files of --calibrate", for people
};

struct Clip {
  Clipping by = Clipping::None;
  double percentile = 100; // of magnitudes, by Percentile
};

struct Calibration {
  std::vector<program::Range> ranges; // of the outputs
  Runs outputs;                       // the first `own` of them
};

// Runs the program on the device. The range of an output is that of its elements in all runs,
// clipped. Error{Unsupported} without a run.
Calibration calibrate(const program::Program &program, std::size_t own, const Runs &runs,
                      const Clip &clip, runtime::Device &device, runtime::KernelCache &cache);

// |got - reference| / |reference| over all runs, of the first output; and in how many of its rows
// the largest element is at the same place.
struct Accuracy {
  double relative_error = 0;
  std::int64_t rows = 0;
  std::int64_t equal_rows = 0;
};
Accuracy accuracy(const Runs &got, const Runs &reference);
// "accuracy …", a line.
std::string to_text(const Accuracy &accuracy);

} // namespace tilefuse::model
