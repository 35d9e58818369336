// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a device: every call succeeds, those that a run consists of are noted.
// Built as a library that the CUDA back end opens in place of a driver.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace {

std::string calls;
unsigned long long next_address = 256;

int note(const char *call) {
  calls += std::string(call) + "\n";
  return 0;
}

// "launch", or "launch in 0x80" where that is not the stream that was made here.
std::string in_stream(const char *call, const void *stream) {
  if (stream == &calls)
    return call;
  char text[64];
  std::snprintf(text, sizeof text, "%s in %p", call, stream);
  return text;
}

} // namespace

// What was noted since the last time, a line each.
extern "C" const char *fake_cuda_calls() {
  static std::string taken;
  taken = std::exchange(calls, {});
  return taken.c_str();
}

// clang-format off
extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuGetErrorName(int, const char **name) { *name = "FAKE"; return 0; }
int cuGetErrorString(int, const char **text) { *text = "fake"; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int) { *device = 0; return 0; }
int cuDeviceGetName(char *name, int, int) { std::strcpy(name, "Fake"); return 0; }
int cuDeviceGetAttribute(int *value, int which, int) { *value = which == 75 ? 8 : which == 76 ? 0 : 1024; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int) { *context = &calls; return 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void *) { return 0; }
int cuMemGetInfo_v2(std::size_t *free, std::size_t *total) { *free = *total = 1 << 30; return 0; }
int cuMemAlloc_v2(unsigned long long *at, std::size_t bytes) { *at = next_address; next_address += (bytes + 511) / 256 * 256; return 0; }
int cuMemFree_v2(unsigned long long) { return 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long, const void *, std::size_t, void *) { return note("write"); }
int cuMemcpyDtoHAsync_v2(void *, unsigned long long, std::size_t, void *) { return note("read"); }
int cuMemcpyDtoDAsync_v2(unsigned long long, unsigned long long, std::size_t, void *) { return note("copy"); }
int cuMemsetD8Async(unsigned long long, unsigned char, std::size_t, void *) { return note("zero"); }
int cuStreamCreate(void **stream, unsigned) { *stream = &calls; return 0; }
int cuStreamDestroy_v2(void *) { return 0; }
int cuStreamSynchronize(void *stream) { return note(in_stream("wait", stream).c_str()); }
int cuModuleLoadData(void **module, const void *) { *module = &calls; return 0; }
int cuModuleUnload(void *) { return 0; }
int cuModuleGetFunction(void **function, void *, const char *) { *function = &calls; return 0; }
int cuFuncSetAttribute(void *, int, int) { return 0; }
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream, void **, void **) { return note(in_stream("launch", stream).c_str()); }
int cuStreamBeginCapture_v2(void *stream, int) { return note(in_stream("record", stream).c_str()); }
int cuStreamEndCapture(void *, void **graph) { *graph = &calls; return note("recorded"); }
int cuGraphInstantiateWithFlags(void **exec, void *, unsigned long long) { *exec = &calls; return 0; }
int cuGraphLaunch(void *, void *stream) { return note(in_stream("graph", stream).c_str()); }
int cuGraphDestroy(void *) { return 0; }
int cuGraphExecDestroy(void *) { return 0; }
int cuEventCreate(void **event, unsigned) { *event = &calls; return 0; }
int cuEventDestroy_v2(void *) { return 0; }
int cuEventRecord(void *, void *stream) { return note(in_stream("mark", stream).c_str()); }
int cuEventSynchronize(void *) { return note("wait for mark"); }
int cuEventElapsedTime(float *milliseconds, void *, void *) { *milliseconds = 2; return 0; }
}
// clang-format on
