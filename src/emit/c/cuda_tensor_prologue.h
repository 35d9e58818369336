// SPDX-License-Identifier: Apache-2.0
// What tensor copies (TMA), mbarriers and wgmma need besides cuda_prologue.h, printed only where a
// kernel has tensor maps: inline PTX of sm_90a.
#pragma once

#include <string_view>

namespace tilefuse::emit {

inline constexpr std::string_view kCudaTensorPrologue = R"cuda(#ifndef tf_tensor_prologue
#define tf_tensor_prologue
struct __align__(64) tf_map { ulong words[16]; };
TF void tf_fetch_map(const tf_map *map) { asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory"); }
TF void tf_mbarrier_init(uint at, uint count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1; fence.mbarrier_init.release.cluster;" :: "r"(at), "r"(count) : "memory"); }
TF void tf_mbarrier_arrive(uint at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at) : "memory"); }
TF void tf_mbarrier_arrive_at(uint at, uint rank) {
  asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [r]; }" :: "r"(at), "r"(rank) : "memory"); }
TF void tf_mbarrier_arrive_cluster(uint at) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cta.b64 _, [%0];" :: "r"(at) : "memory"); }
TF void tf_mbarrier_arrive_at_cluster(uint at, uint rank) {
  asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r]; }" :: "r"(at), "r"(rank) : "memory"); }
// Of the block of a rank, where this block has `at`.
template <class T> TF const T *tf_of_rank(const T *at, uint rank) { ulong to;
  asm("mapa.u64 %0, %1, %2;" : "=l"(to) : "l"(at), "r"(rank)); return (const T *)to; }
TF void tf_cluster_barrier() { __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
TF void tf_mbarrier_expect(uint at, uint bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory"); }
TF void tf_mbarrier_wait(uint at, uint parity) {
  asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra PASSED; bra AGAIN; PASSED: }"
               :: "r"(at), "r"(parity) : "memory"); }
TF void tf_mbarrier_wait_cluster(uint at, uint parity) {
  asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @p bra PASSED; bra AGAIN; PASSED: }"
               :: "r"(at), "r"(parity) : "memory"); }
// A matrix in shared memory as wgmma takes it; distances in 16-byte units.
TF ulong tf_matrix(uint at, uint lead, uint step, uint mode) {
  return (ulong)((at & 0x3FFFFu) >> 4) | (ulong)lead << 16 | (ulong)step << 32 | (ulong)mode << 62; }
#endif
)cuda";

} // namespace tilefuse::emit
