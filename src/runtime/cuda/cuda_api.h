// SPDX-License-Identifier: Apache-2.0
// The CUDA driver and its run-time compiler NVRTC, opened at run time with declarations of our own:
// no toolkit is needed to build, and a machine without libcuda.so.1 or libnvrtc.so only lacks the
// back end. Every return code goes through check().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilefuse::runtime::cuda {

using Result = int; // CUresult and nvrtcResult: 0 is success
using DevicePtr = unsigned long long;
using Context = struct ContextObject *;
using Stream = struct StreamObject *;
using Event = struct EventObject *;
using Module = struct ModuleObject *;
using Function = struct FunctionObject *;
using Graph = struct GraphObject *;
using GraphExec = struct GraphExecObject *;
using NvrtcProgram = struct NvrtcProgramObject *;

// Device attributes, by the driver's numbers.
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedPerBlock = 97, // when asked for per kernel
  kMultiprocessors = 16,
  kClockKhz = 13,
  kL2Bytes = 38,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kMajor = 75,
  kMinor = 76,
};

// Attributes of a function.
constexpr unsigned kNonBlockingStream = 1;
constexpr int kUsual = 0;               // a priority
constexpr int kInFront = -1;            // of the usual
constexpr int kFirstOfAll = -100;       // a priority; the driver takes the nearest that it has
constexpr unsigned kRecordExternal = 1; // a node of the graph that is recorded
constexpr int kCaptureThreadLocal = 1;
constexpr Result kOutOfMemory = 2; // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kMaxDynamicShared = 8;

// A launch with attributes, as the driver lays it out.
constexpr int kStartsEarly = 6;          // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
constexpr int kFirstEarlyDriver = 12030; // whose graphs hold such launches
struct LaunchAttribute {
  int id = 0;
  int padding = 0;
  int value[16] = {};
};
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  unsigned count = 0;
};

// clang-format off
struct DriverApi {
  Result (*cuInit)(unsigned);
  Result (*cuDriverGetVersion)(int *);
  Result (*cuGetErrorName)(Result, const char **);
  Result (*cuGetErrorString)(Result, const char **);
  Result (*cuDeviceGetCount)(int *);
  Result (*cuDeviceGet)(int *, int);
  Result (*cuDeviceGetName)(char *, int, int);
  Result (*cuDeviceGetAttribute)(int *, int, int);
  Result (*cuDevicePrimaryCtxRetain)(Context *, int);
  Result (*cuDevicePrimaryCtxRelease_v2)(int);
  Result (*cuCtxSetCurrent)(Context);
  Result (*cuMemGetInfo_v2)(std::size_t *, std::size_t *);
  Result (*cuMemAlloc_v2)(DevicePtr *, std::size_t);
  Result (*cuMemFree_v2)(DevicePtr);
  Result (*cuMemcpyHtoDAsync_v2)(DevicePtr, const void *, std::size_t, Stream);
  Result (*cuMemcpyDtoHAsync_v2)(void *, DevicePtr, std::size_t, Stream);
  Result (*cuMemcpyDtoDAsync_v2)(DevicePtr, DevicePtr, std::size_t, Stream);
  Result (*cuMemsetD8Async)(DevicePtr, unsigned char, std::size_t, Stream);
  Result (*cuStreamCreateWithPriority)(Stream *, unsigned, int);
  Result (*cuStreamDestroy_v2)(Stream);
  Result (*cuStreamSynchronize)(Stream);
  Result (*cuStreamWaitEvent)(Stream, Event, unsigned);
  Result (*cuStreamGetCtx)(Stream, Context *);
  Result (*cuModuleLoadData)(Module *, const void *);
  Result (*cuModuleUnload)(Module);
  Result (*cuModuleGetFunction)(Function *, Module, const char *);
  Result (*cuFuncSetAttribute)(Function, int, int);
  Result (*cuLaunchKernel)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, Stream, void **, void **);
  Result (*cuLaunchKernelEx)(const LaunchConfig *, Function, void **, void **); // null: CUDA 11
  Result (*cuStreamBeginCapture_v2)(Stream, int);
  Result (*cuStreamEndCapture)(Stream, Graph *);
  Result (*cuGraphInstantiateWithFlags)(GraphExec *, Graph, unsigned long long);
  Result (*cuGraphLaunch)(GraphExec, Stream);
  Result (*cuGraphDestroy)(Graph);
  Result (*cuGraphExecDestroy)(GraphExec);
  Result (*cuEventCreate)(Event *, unsigned);
  Result (*cuEventDestroy_v2)(Event);
  Result (*cuEventRecord)(Event, Stream);
  Result (*cuEventRecordWithFlags)(Event, Stream, unsigned); // null: CUDA 11.0
  Result (*cuEventSynchronize)(Event);
  Result (*cuEventElapsedTime)(float *, Event, Event);
  // Null where the driver is older than CUDA 12: see cuda_tensor_map.h.
  Result (*cuTensorMapEncodeTiled)(void *, int, unsigned, void *, const unsigned long long *,
                                   const unsigned long long *, const unsigned *, const unsigned *,
                                   int, int, int, int);
  Result (*cuTensorMapEncodeIm2col)(void *, int, unsigned, void *, const unsigned long long *,
                                    const unsigned long long *, const int *, const int *, unsigned,
                                    unsigned, const unsigned *, int, int, int, int);
};

struct CompilerApi {
  Result (*nvrtcVersion)(int *, int *);
  const char *(*nvrtcGetErrorString)(Result);
  Result (*nvrtcCreateProgram)(NvrtcProgram *, const char *, const char *, int, const char *const *,
                               const char *const *);
  Result (*nvrtcCompileProgram)(NvrtcProgram, int, const char *const *);
  Result (*nvrtcDestroyProgram)(NvrtcProgram *);
  Result (*nvrtcGetProgramLogSize)(NvrtcProgram, std::size_t *);
  Result (*nvrtcGetProgramLog)(NvrtcProgram, char *);
  Result (*nvrtcGetCUBINSize)(NvrtcProgram, std::size_t *);
  Result (*nvrtcGetCUBIN)(NvrtcProgram, char *);
};
// clang-format on

// Each library is opened once and kept; null with the reason in `why`.
const DriverApi *driver_api(std::string *why);
const CompilerApi *compiler_api(std::string *why);

// Throws Error{Device} with the driver's name and sentence for the code, and the call.
void check(const DriverApi &api, Result code, std::string_view call);

} // namespace tilefuse::runtime::cuda
