// SPDX-License-Identifier: Apache-2.0
// Building OpenCL C into binaries that load without compiling.
//
// Compilers of drivers hold locks: threads of one process do not build faster than one thread,
// processes do. So build_opencl hands shares of the sources to the program tilefuse_opencl_build,
// one process per core, and builds in this process only where that program is not there or the work
// is small. A compiler that crashes takes its process with it and not ours.
//
// PoCL pays a fixed price per program, so there several kernels share one program and one binary;
// and it compiles a kernel once more at its first launch with a group size, so there each kernel
// runs one group before the binary is taken. Other drivers get one small program per kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "package/package.h"
#include "runtime/opencl/opencl_platform.h"

namespace tilefuse::runtime {

struct OpenclContext {
  const OpenclApi &api;
  OpenclDeviceInfo info;
  ContextHandle context;
  std::int64_t held_bytes = 0; // of device memory, by us
};

std::shared_ptr<OpenclContext> open_context(const OpenclApi &api, const OpenclDeviceInfo &info);

// A program of the context; `log` receives what the compiler said. Error{Device} when the build
// fails.
ProgramHandle build_source(const OpenclContext &cx, const std::vector<const Package *> &packages);
// Binds argument `position` of a package to the memory from a byte offset on: kernels take a buffer
// and an offset for each (parts of a buffer as objects of their own make some drivers fail). The
// driver's return code.
cl_int set_argument(const OpenclApi &api, cl_kernel kernel, std::size_t position, cl_mem memory,
                    std::int64_t offset);

ProgramHandle load_binary(const OpenclContext &cx, const Package &package);

// All packages are OpenclSource; in this process. Error{Device} names the kernel and carries the
// driver's log.
std::vector<Package> build_in_process(const OpenclContext &cx, std::vector<Package> packages);

} // namespace tilefuse::runtime
