// SPDX-License-Identifier: Apache-2.0
// Workers with a CUDA device each, connected by NCCL: what they exchange is queued on the device's
// stream, and the host does not wait. Calls may be recorded (runtime/timeline.h) once one of their kind
// was made; what was recorded is gone before the workers are.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/workers.h"

namespace tilefuse::runtime {

struct NcclPlace {
  int rank = 0;
  int count = 1;
  // The text of rank 0, at every worker: how NCCL's id gets about.
  std::function<std::string(const std::string &own)> broadcast;
};

// The device, of CUDA, outlives the result. Every worker makes its own at the same time. Error{Device}
// where NCCL cannot be had.
std::unique_ptr<Workers> make_nccl_workers(const NcclPlace &place, Device &device);

} // namespace tilefuse::runtime
