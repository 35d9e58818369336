// SPDX-License-Identifier: Apache-2.0
// Largest magnitudes of an f32 program's tensors on given inputs, which
// program/precision/quantize.h needs, and how far results in other arithmetic are from those in
// f32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "program/host_tensor.h"
#include "program/program.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"

namespace tilefuse::model {

using Runs = std::vector<std::vector<program::HostTensor>>; // inputs or outputs of each run

struct Calibration {
  std::vector<double> largest; // by TensorId, of program::tensors_to_calibrate
  Runs outputs;                // in f32
};

// Runs the program on the device. Of each tensor in each run the magnitude that `percentile`
// percent of its elements do not exceed, 100: the largest; then the largest over the runs. The
// program is simplified and has data. Error{Unsupported} without a run.
Calibration calibrate(const program::Program &program, std::span<const Runs::value_type> runs,
                      double percentile, runtime::Device &device, runtime::KernelCache &cache);

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
