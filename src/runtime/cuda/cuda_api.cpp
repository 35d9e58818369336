// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_api.h"

#include <array>
#include <initializer_list>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime::cuda {
namespace {

template <typename Api> struct Opened {
  Api api{};
  std::string why;
};

void *open_first(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

template <typename Pointer>
void find(void *library, const char *name, Pointer &to, std::string &why) {
  to = reinterpret_cast<Pointer>(dlsym(library, name));
  if (to == nullptr && why.empty())
    why = fmt::format("the driver lacks the function {}", name);
}

#define TILEFUSE_FIND(name) find(library, #name, opened.api.name, opened.why)

Opened<DriverApi> open_driver() {
  Opened<DriverApi> opened;
  void *library = open_first({"libcuda.so.1"});
  if (library == nullptr) {
    opened.why = "libcuda.so.1 is not there: no NVIDIA driver is installed";
    return opened;
  }
  TILEFUSE_FIND(cuInit);
  TILEFUSE_FIND(cuDriverGetVersion);
  TILEFUSE_FIND(cuGetErrorName);
  TILEFUSE_FIND(cuGetErrorString);
  TILEFUSE_FIND(cuDeviceGetCount);
  TILEFUSE_FIND(cuDeviceGet);
  TILEFUSE_FIND(cuDeviceGetName);
  TILEFUSE_FIND(cuDeviceGetAttribute);
  TILEFUSE_FIND(cuDevicePrimaryCtxRetain);
  TILEFUSE_FIND(cuDevicePrimaryCtxRelease_v2);
  TILEFUSE_FIND(cuCtxSetCurrent);
  TILEFUSE_FIND(cuMemGetInfo_v2);
  TILEFUSE_FIND(cuMemAlloc_v2);
  TILEFUSE_FIND(cuMemFree_v2);
  TILEFUSE_FIND(cuMemcpyHtoDAsync_v2);
  TILEFUSE_FIND(cuMemcpyDtoHAsync_v2);
  TILEFUSE_FIND(cuMemcpyDtoDAsync_v2);
  TILEFUSE_FIND(cuMemsetD8Async);
  TILEFUSE_FIND(cuStreamCreateWithPriority);
  TILEFUSE_FIND(cuStreamDestroy_v2);
  TILEFUSE_FIND(cuStreamSynchronize);
  TILEFUSE_FIND(cuStreamWaitEvent);
  TILEFUSE_FIND(cuStreamGetCtx);
  TILEFUSE_FIND(cuModuleLoadData);
  TILEFUSE_FIND(cuModuleUnload);
  TILEFUSE_FIND(cuModuleGetFunction);
  TILEFUSE_FIND(cuFuncSetAttribute);
  TILEFUSE_FIND(cuLaunchKernel);
  TILEFUSE_FIND(cuStreamBeginCapture_v2);
  TILEFUSE_FIND(cuStreamEndCapture);
  TILEFUSE_FIND(cuGraphInstantiateWithFlags);
  TILEFUSE_FIND(cuGraphLaunch);
  TILEFUSE_FIND(cuGraphDestroy);
  TILEFUSE_FIND(cuGraphExecDestroy);
  TILEFUSE_FIND(cuEventCreate);
  TILEFUSE_FIND(cuEventDestroy_v2);
  TILEFUSE_FIND(cuEventRecord);
  TILEFUSE_FIND(cuEventSynchronize);
  TILEFUSE_FIND(cuEventElapsedTime);
  std::string ignored;
  find(library, "cuTensorMapEncodeTiled", opened.api.cuTensorMapEncodeTiled, ignored);
  find(library, "cuEventRecordWithFlags", opened.api.cuEventRecordWithFlags, ignored);
  find(library, "cuLaunchKernelEx", opened.api.cuLaunchKernelEx, ignored);
  find(library, "cuTensorMapEncodeIm2col", opened.api.cuTensorMapEncodeIm2col, ignored);
  if (!opened.why.empty())
    return opened;
  if (const Result code = opened.api.cuInit(0); code != 0) {
    const char *name = nullptr;
    opened.api.cuGetErrorName(code, &name);
    opened.why = fmt::format("cuInit failed with {}", name == nullptr ? "an unknown code" : name);
  }
  return opened;
}

Opened<CompilerApi> open_compiler() {
  Opened<CompilerApi> opened;
  void *library = open_first(
      {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"});
  if (library == nullptr) {
    opened.why = "libnvrtc.so is not there: NVIDIA's run-time compiler is not installed";
    return opened;
  }
  TILEFUSE_FIND(nvrtcVersion);
  TILEFUSE_FIND(nvrtcGetErrorString);
  TILEFUSE_FIND(nvrtcCreateProgram);
  TILEFUSE_FIND(nvrtcCompileProgram);
  TILEFUSE_FIND(nvrtcDestroyProgram);
  TILEFUSE_FIND(nvrtcGetProgramLogSize);
  TILEFUSE_FIND(nvrtcGetProgramLog);
  TILEFUSE_FIND(nvrtcGetCUBINSize);
  TILEFUSE_FIND(nvrtcGetCUBIN);
  return opened;
}

#undef TILEFUSE_FIND

template <typename Api> const Api *usable(const Opened<Api> &opened, std::string *why) {
  if (opened.why.empty())
    return &opened.api;
  if (why != nullptr)
    *why = opened.why;
  return nullptr;
}

} // namespace

const DriverApi *driver_api(std::string *why) {
  static const Opened<DriverApi> opened = open_driver();
  return usable(opened, why);
}

const CompilerApi *compiler_api(std::string *why) {
  static const Opened<CompilerApi> opened = open_compiler();
  return usable(opened, why);
}

void check(const DriverApi &api, Result code, std::string_view call) {
  if (code == 0)
    return;
  const char *name = nullptr;
  const char *sentence = nullptr;
  api.cuGetErrorName(code, &name);
  api.cuGetErrorString(code, &sentence);
  throw Error(ErrorCode::Device,
              fmt::format("{} failed with {} ({})", call,
                          name == nullptr ? fmt::format("code {}", code) : std::string(name),
                          sentence == nullptr ? "the driver has no words for it" : sentence));
}

} // namespace tilefuse::runtime::cuda
