// SPDX-License-Identifier: Apache-2.0
// Rules of blocks, barriers and fragments.
#include <fmt/format.h>

#include "kernel/rules.h"

namespace tilefuse::kernel {
namespace {

constexpr int kMatrixWords = 4; // bytes of one work-item per 8 x 16-byte tile
constexpr int kMaxBarrier = 15;
constexpr std::int64_t kMostCluster = 8; // that any device of compute capability 9 runs

} // namespace

std::string register_rule(const Kernel &kernel, const RegisterRef &ref, Type type) {
  const Buffer &buffer = kernel[ref.buffer];
  const bool fits = buffer.type.elem == type.elem && type.lanes % buffer.type.lanes == 0;
  if (buffer.space != Space::Register || !fits) {
    return fmt::format("{} needs to be a register of {}; got {}", buffer.name, to_string(type),
                       to_string(buffer.type));
  }
  return ref.index->type == kInt ? std::string()
                                 : fmt::format("an index of {} needs i32", buffer.name);
}

std::string shape_rule(const Kernel &kernel) {
  if (kernel.blocks < 1 || kernel.block_size < 1)
    return "a kernel needs at least one block and one work-item";
  const bool fits =
      kernel.cluster >= 1 && kernel.cluster <= kMostCluster && kernel.blocks % kernel.cluster == 0;
  return fits ? std::string()
              : fmt::format("a cluster needs 1 to {} blocks that divide the kernel's {}; got {}",
                            kMostCluster, kernel.blocks, kernel.cluster);
}

std::string barrier_rule(const Kernel &kernel, const Barrier &barrier) {
  const std::int64_t block_size = kernel.block_size;
  if (barrier.is_of_cluster())
    return kernel.cluster > 1 ? "" : "the barrier of a cluster needs one of several blocks";
  if (barrier.id == 0)
    return barrier.items == 0 || barrier.is_of_warp()
               ? ""
               : "the barrier of the whole block takes no number of work-items";
  if (barrier.id < 0 || barrier.id > kMaxBarrier)
    return fmt::format("a barrier's number needs to be 1 to {}; got {}", kMaxBarrier, barrier.id);
  if (barrier.items < kCoreLanes || barrier.items % kCoreLanes != 0 || barrier.items > block_size) {
    return fmt::format("barrier {} needs a multiple of {} work-items up to the block's {}; got {}",
                       barrier.id, kCoreLanes, block_size, barrier.items);
  }
  return {};
}

int load_matrix_elems(const LoadMatrix &load, DType elem) {
  return load.matrices * kMatrixWords / static_cast<int>(size_bytes(elem));
}

std::int64_t load_matrix_values(const Kernel &kernel, const LoadMatrix &load) {
  const Type &type = kernel[load.to.buffer].type;
  return load_matrix_elems(load, type.elem) / type.lanes;
}

std::int64_t fragment_values(const Kernel &kernel, const RegisterRef &ref,
                             const Fragment &fragment) {
  return fragment.values() / kernel[ref.buffer].type.lanes;
}

std::optional<RegisterRef> fragment_of(const Kernel &kernel, const Wgmma &wgmma) {
  if (kernel[wgmma.a.buffer].space != Space::Register)
    return {};
  return RegisterRef{wgmma.a.buffer, wgmma.a.index};
}

} // namespace tilefuse::kernel
