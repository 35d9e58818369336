// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a device: every call succeeds but those that a test says fail; those that a
// run consists of are noted with their stream, "launch in 1". Streams have numbers in the order in which
// they were made, from 1 again where there are none left; the caller's are addresses.
// Built as a library that the CUDA back end opens in place of a driver.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace {

constexpr int kMostStreams = 64; // at a time
constexpr int kFailure = 1;

std::string calls;
std::string failing; // the call that fails next; empty: none
unsigned long long next_address = 256;
char streams[kMostStreams];
char others_stream; // of another context
int made = 0;
int kept = 0;   // of those that were made
int graphs = 0; // that are there

int note(const std::string &call) {
  calls += call + "\n";
  if (failing.empty() || call.compare(0, failing.size(), failing) != 0)
    return 0;
  failing.clear();
  return kFailure;
}

std::string name_of(const void *stream) {
  for (int number = 0; number < made; ++number)
    if (stream == &streams[number])
      return std::to_string(number + 1);
  char text[32];
  std::snprintf(text, sizeof text, "%p", stream);
  return text;
}

int note_in(const char *call, const void *stream) {
  return note(call + (" in " + name_of(stream)));
}

int make_stream(void **stream) {
  if (made == kMostStreams)
    return kFailure;
  ++kept;
  *stream = &streams[made++];
  return 0;
}

int drop_stream() {
  if (--kept == 0)
    made = 0;
  return 0;
}

int context_of(const void *stream, void **context) {
  *context = &calls;
  if (stream == &others_stream)
    *context = &others_stream;
  return 0;
}

int end_recording(void **graph) {
  ++graphs;
  *graph = &calls;
  return note("recorded");
}

} // namespace

// The next call that is noted by words that begin with these fails.
extern "C" void fake_cuda_fail(const char *call) { failing = call; }

extern "C" void *fake_cuda_others_stream() { return &others_stream; }

// How many graphs there are that nobody destroyed.
extern "C" int fake_cuda_graphs() { return graphs; }

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
int cuMemcpyHtoDAsync_v2(unsigned long long, const void *, std::size_t, void *stream) { return note_in("write", stream); }
int cuMemcpyDtoHAsync_v2(void *, unsigned long long, std::size_t, void *stream) { return note_in("read", stream); }
int cuMemcpyDtoDAsync_v2(unsigned long long, unsigned long long, std::size_t, void *stream) { return note_in("copy", stream); }
int cuMemsetD8Async(unsigned long long, unsigned char, std::size_t, void *stream) { return note_in("zero", stream); }
int cuStreamCreate(void **stream, unsigned) { return make_stream(stream); }
int cuStreamCreateWithPriority(void **stream, unsigned, int) { return make_stream(stream); }
int cuStreamDestroy_v2(void *) { return drop_stream(); }
int cuStreamSynchronize(void *stream) { return note_in("wait", stream); }
int cuStreamWaitEvent(void *stream, void *, unsigned) { return note_in("behind mark", stream); }
int cuStreamGetCtx(void *stream, void **context) { return context_of(stream, context); }
int cuModuleLoadData(void **module, const void *) { *module = &calls; return 0; }
int cuModuleUnload(void *) { return 0; }
int cuModuleGetFunction(void **function, void *, const char *) { *function = &calls; return 0; }
int cuFuncSetAttribute(void *, int, int) { return 0; }
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream, void **, void **) { return note_in("launch", stream); }
int cuStreamBeginCapture_v2(void *stream, int) { return note_in("record", stream); }
int cuStreamEndCapture(void *, void **graph) { return end_recording(graph); }
int cuGraphInstantiateWithFlags(void **exec, void *, unsigned long long) { *exec = &calls; return 0; }
int cuGraphLaunch(void *, void *stream) { return note_in("graph", stream); }
int cuGraphDestroy(void *) { --graphs; return 0; }
int cuGraphExecDestroy(void *) { return 0; }
int cuEventCreate(void **event, unsigned) { *event = &calls; return 0; }
int cuEventDestroy_v2(void *) { return 0; }
int cuEventRecord(void *, void *stream) { return note_in("mark", stream); }
int cuEventRecordWithFlags(void *, void *stream, unsigned flags) { return note_in(flags == 1 ? "time of a graph" : "time", stream); }
int cuEventSynchronize(void *) { return note("wait for mark"); }
int cuEventElapsedTime(float *milliseconds, void *, void *) { *milliseconds = 2; return 0; }
}
// clang-format on
