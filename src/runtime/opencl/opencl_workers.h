// SPDX-License-Identifier: Apache-2.0
// Builds of OpenCL kernels in processes of their own.
#pragma once

#include "runtime/opencl/opencl_build.h"

namespace tilefuse::runtime {

// build_in_process, by processes of their own where that is faster. Packages of other formats come
// back as they are.
std::vector<Package> build_opencl(const OpenclContext &cx, std::vector<Package> packages);
// The body of tilefuse_opencl_build: reads a selector and packages from descriptor 0, answers there
// with built ones.
int opencl_worker_main();

} // namespace tilefuse::runtime
