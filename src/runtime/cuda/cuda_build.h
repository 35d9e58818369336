// SPDX-License-Identifier: Apache-2.0
// Building CUDA C++ into machine code (cubin) by NVRTC. No GPU is needed.
#pragma once

#include <string>
#include <vector>

#include "package/package.h"

namespace tilefuse::runtime {

// What NVRTC can be had: "NVRTC 13.0", or empty with the reason.
std::string nvrtc_version(std::string *why);

// Packages of CudaSource become CudaBinary for `arch` ("sm_90a"), several at a time; others come
// back as they are. Strict arithmetic: no contraction, no flush to zero, IEEE division and roots.
// Error{Device} names the kernel and carries the compiler's log. `log` receives the warnings and
// the resource report of every kernel.
std::vector<Package> build_cuda(std::vector<Package> packages, const std::string &arch,
                                std::string *log);

} // namespace tilefuse::runtime
