// SPDX-License-Identifier: Apache-2.0
// tilefuse_opencl_build: started by the runtime, never by hand; see opencl_build.h.
#include "runtime/opencl/opencl_build.h"
#include "runtime/opencl/opencl_workers.h"

int main() { return tilefuse::runtime::opencl_worker_main(); }
