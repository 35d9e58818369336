// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 without devices: every call succeeds and is noted. Built as a library that workers of
// CUDA devices open in place of NCCL.
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace {

std::string calls;

int note(const std::string &call) {
  calls += call + "\n";
  return 0;
}

std::string at(const void *address) {
  return std::to_string(reinterpret_cast<std::size_t>(address));
}

struct Id {
  char bytes[128];
};

} // namespace

// What was noted since the last time, a line each.
extern "C" const char *fake_nccl_calls() {
  static std::string taken;
  taken = std::exchange(calls, {});
  return taken.c_str();
}

// clang-format off
extern "C" {
int ncclGetVersion(int *version) { *version = 22703; return 0; }
int ncclGetUniqueId(Id *id) { std::memset(id, 'i', sizeof *id); return note("id"); }
int ncclCommInitRank(void **made, int count, Id id, int rank) {
  *made = &calls;
  return note("join " + std::to_string(rank) + " of " + std::to_string(count) + " by " + std::string(id.bytes, 2));
}
int ncclCommDestroy(void *) { return note("leave"); }
int ncclCommAbort(void *) { return note("abort"); }
int ncclCommGetAsyncError(void *, int *code) { *code = 0; return 0; }
const char *ncclGetErrorString(int) { return "fake"; }
const char *ncclGetLastError(void *) { return "fake"; }
int ncclGroupStart() { return note("begin"); }
int ncclGroupEnd() { return note("end"); }
int ncclSend(const void *from, std::size_t count, int type, int peer, void *, void *) {
  return note("send " + at(from) + " " + std::to_string(count) + " of " + std::to_string(type) + " to " + std::to_string(peer));
}
int ncclRecv(void *to, std::size_t count, int type, int peer, void *, void *) {
  return note("receive " + at(to) + " " + std::to_string(count) + " of " + std::to_string(type) + " from " + std::to_string(peer));
}
int ncclAllGather(const void *from, void *to, std::size_t count, int type, void *, void *) {
  return note("gather " + at(from) + " " + at(to) + " " + std::to_string(count) + " of " + std::to_string(type));
}
int ncclAllReduce(const void *from, void *to, std::size_t count, int type, int op, void *, void *) {
  return note("sum " + at(from) + " " + at(to) + " " + std::to_string(count) + " of " + std::to_string(type) + " by " + std::to_string(op));
}
}
// clang-format on
