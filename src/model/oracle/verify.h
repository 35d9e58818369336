// SPDX-License-Identifier: Apache-2.0
// A whole model on a device against the evaluator, kernel by kernel: each kernel reads what the
// device computed so far, so the first one that is wrong is the one to look at. Kernels that would
// share a launch (search/network/launches.h) are launched one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/compile.h"
#include "model/oracle/check.h"
#include "program/host_tensor.h"

namespace tilefuse::model {

struct VerifyOptions {
  std::int64_t samples = 256; // results compared per kernel at most (check.h); 0: all
  SessionOptions session;     // how the model is compiled; sharing is not taken
  std::function<void(int done, int total)> progress; // kernels checked
  Lowering lowering = lower_case; // of a kernel that is wrong, again, to find the pass
};

struct KernelFault {
  int kernel = 0;     // in launch order
  std::string origin; // ONNX nodes
  std::string name;
  Divergence divergence; // on the device
  std::string bisection; // which pass is wrong, or that the code generator or the driver must be
  KernelCase reproducer; // with drawn data where those show the fault, else with the real ones
};

struct VerifyReport {
  int kernels = 0; // checked
  std::int64_t compared = 0;
  double largest_share = 0; // of the bound
  std::optional<KernelFault> fault;
};

// Random inputs in [-1, 1) (integers in [0, 4]) where `inputs` is empty, else one per input.
VerifyReport verify_model(const program::Program &program,
                          const std::vector<program::HostTensor> &inputs, runtime::Device &device,
                          runtime::KernelCache &cache, const VerifyOptions &options);

// Which pass of lowering is wrong in a case, by simulation; a sentence when none is, or when the
// kernel is too large to simulate.
std::string bisect(const Reference &reference, const Lowering &lowering = lower_case);

} // namespace tilefuse::model
