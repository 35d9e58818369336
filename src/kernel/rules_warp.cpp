// SPDX-License-Identifier: Apache-2.0
// Rules of operations that a whole warp executes and of asynchronous copies.
#include <fmt/format.h>

#include "kernel/rules.h"

namespace tilefuse::kernel {
namespace {

constexpr int kMatrixWords = 4; // bytes of one work-item per 8 x 16-byte tile
constexpr int kMaxBarrier = 15;
constexpr std::int64_t kMaxPending = 64;
constexpr std::int64_t kMostCluster = 8; // that any device of compute capability 9 runs

Type fragment_type(const Fragment &fragment) { return {fragment.type, fragment.values()}; }

bool is_async_size(std::int64_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

} // namespace

std::string register_rule(const Kernel &kernel, const RegisterRef &ref, Type type) {
  const Buffer &buffer = kernel[ref.buffer];
  const bool fits = buffer.type == type || buffer.type == Type{type.elem, 1};
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

std::string load_matrix_rule(const Kernel &kernel, const LoadMatrix &load) {
  const Buffer &to = kernel[load.to.buffer];
  const Buffer &from = kernel[load.from];
  if (load.matrices != 1 && load.matrices != 2 && load.matrices != 4)
    return fmt::format("ldmatrix needs 1, 2 or 4 tiles; got {}", load.matrices);
  if (to.space != Space::Register || from.space != Space::Local || to.type.elem != from.type.elem) {
    return fmt::format("ldmatrix needs a register and local memory of one type; got {} and {}",
                       to.name, from.name);
  }
  const std::int64_t size = size_bytes(from.type.elem);
  if (size > kMatrixWords || (load.transposed && size != 2)) {
    return fmt::format("ldmatrix needs {}; got {}",
                       load.transposed ? "a type of 2 bytes to transpose"
                                       : "a type of 1 to 4 bytes",
                       to_string(from.type));
  }
  if (load.to.index->type != kInt || load.index->type != kInt)
    return "an index of ldmatrix needs i32";
  const int elems = load_matrix_elems(load, from.type.elem);
  if (elems % to.type.lanes != 0) {
    return fmt::format("ldmatrix of {} elements needs to fill whole values of {}; got {}", elems,
                       to.name, to_string(to.type));
  }
  return {};
}

std::int64_t fragment_values(const Kernel &kernel, const RegisterRef &ref,
                             const Fragment &fragment) {
  return fragment.values() / kernel[ref.buffer].type.lanes;
}

std::string mma_rule(const Kernel &kernel, const Mma &mma) {
  if (mma.op == nullptr || is_wgmma(*mma.op))
    return "mma needs a row of the table of core instructions of one warp";
  for (const std::string &broken : {register_rule(kernel, mma.acc, fragment_type(mma.op->d)),
                                    register_rule(kernel, mma.a, fragment_type(mma.op->a)),
                                    register_rule(kernel, mma.b, fragment_type(mma.op->b))}) {
    if (!broken.empty())
      return fmt::format("mma.{}: {}", mma.op->name, broken);
  }
  return {};
}

std::string async_copy_rule(const Kernel &kernel, const AsyncCopy &copy) {
  const Buffer &to = kernel[copy.to];
  const Buffer &from = kernel[copy.from];
  if (to.space != Space::Local || from.space != Space::Global || to.type != from.type) {
    return fmt::format("async_copy needs local and global memory of one type; got {} and {}",
                       to.name, from.name);
  }
  const std::int64_t bytes = copy.elems * size_bytes(to.type.elem);
  if (copy.elems < 1 || !is_async_size(bytes))
    return fmt::format("async_copy needs 4, 8 or 16 bytes; got {}", bytes);
  if (copy.to_index->type != kInt || copy.from_index->type != kInt ||
      (copy.valid != nullptr && copy.valid->type != kInt))
    return "an index of async_copy needs i32";
  return {};
}

std::string async_wait_rule(std::int64_t pending) {
  return pending >= 0 && pending <= kMaxPending
             ? std::string()
             : fmt::format("async_wait needs 0 to {} groups; got {}", kMaxPending, pending);
}

} // namespace tilefuse::kernel
