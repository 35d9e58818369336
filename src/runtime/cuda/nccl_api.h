// SPDX-License-Identifier: Apache-2.0
// NCCL, opened at run time with declarations of our own: $TILEFUSE_NCCL (a file, or the folder of
// libnccl.so.2), else what the loader finds. Multicast over NVLink (NVLS) stays off unless
// NCCL_NVLS_ENABLE says otherwise: the order of its sums is not ours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/cuda/cuda_api.h"

namespace tilefuse::runtime::nccl {

using Result = int; // ncclResult_t: 0 is success
using Communicator = struct CommunicatorObject *;

struct UniqueId {
  char bytes[128] = {};
};

constexpr int kInt8 = 0; // ncclDataType_t
constexpr int kFloat32 = 7;
constexpr int kSum = 0; // ncclRedOp_t

// clang-format off
struct Api {
  Result (*ncclGetVersion)(int *);
  Result (*ncclGetUniqueId)(UniqueId *);
  Result (*ncclCommInitRank)(Communicator *, int, UniqueId, int);
  Result (*ncclCommDestroy)(Communicator);
  Result (*ncclCommAbort)(Communicator);
  Result (*ncclCommGetAsyncError)(Communicator, Result *);
  const char *(*ncclGetErrorString)(Result);
  const char *(*ncclGetLastError)(Communicator); // null: older than 2.13
  Result (*ncclGroupStart)();
  Result (*ncclGroupEnd)();
  Result (*ncclSend)(const void *, std::size_t, int, int, Communicator, cuda::Stream);
  Result (*ncclRecv)(void *, std::size_t, int, int, Communicator, cuda::Stream);
  Result (*ncclAllGather)(const void *, void *, std::size_t, int, Communicator, cuda::Stream);
  Result (*ncclAllReduce)(const void *, void *, std::size_t, int, int, Communicator, cuda::Stream);
};
// clang-format on

// Opened once and kept; null with the reason in `why`.
const Api *api(std::string *why);

// Throws Error{Device} with NCCL's sentence for the code, and the call.
void check(const Api &api, Result code, std::string_view call);

} // namespace tilefuse::runtime::nccl
