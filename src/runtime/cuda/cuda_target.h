// SPDX-License-Identifier: Apache-2.0
// The CUDA devices of this machine, and the Target of each.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/cuda_api.h"
#include "target/target.h"

namespace tilefuse::runtime {

struct CudaDeviceInfo {
  int number = 0;
  std::string name;
  int major = 0; // compute capability
  int minor = 0;
  int multiprocessors = 1;
  int max_threads = 1;
  int shared_bytes = 0; // of one block without asking for more
  int l2_bytes = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;

  std::string selector() const; // "cuda:0"
  // What NVRTC compiles for: "sm_90a" where there are instructions of one generation only.
  std::string arch() const;
};

std::vector<CudaDeviceInfo> cuda_devices(const cuda::DriverApi &api);
// The row cuda_smXY of `rows`, the nearest older one, or built-in values with the oldest row's
// rates; what the driver reports is put in, and features that its generation lacks are left out.
Target target_of(const CudaDeviceInfo &info, const std::vector<Target> &rows);

} // namespace tilefuse::runtime
