// SPDX-License-Identifier: Apache-2.0
// Rules of tensor copies, mbarriers and wgmma. Limits are those of TMA and of sm_90 registers.
#include <algorithm>

#include <fmt/format.h>

#include "kernel/build.h"
#include "kernel/rules.h"

namespace tilefuse::kernel {
namespace {

constexpr std::int64_t kChunkBytes = 16;
constexpr std::int64_t kSwizzleRows = 8;
constexpr std::int64_t kMaxBox = 256; // of one dimension
constexpr std::int64_t kMaxPoints = 1024;
constexpr std::int64_t kMaxDim = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStrideBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMaxStep = 8;
constexpr std::size_t kMaxRank = 5;
constexpr int kMaxPending = 7;
constexpr int kLeastRegisters = 24;
constexpr int kMostRegisters = 240;
constexpr std::int64_t kTurnedBytes = 128;                   // rows of a turned operand
constexpr std::int64_t kMostLines = (1 << 18) - kChunkBytes; // bytes that a descriptor holds
constexpr std::int64_t kMaxArrivals = (1 << 20) - 1;

bool is_within(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value >= low && value <= high;
}

// Corners hold 16, 8 or 5 bits for 1, 2 or 3 spatial dimensions.
std::int64_t corner_limit(std::size_t spatial) {
  return spatial == 1 ? 1 << 15 : spatial == 2 ? 1 << 7 : 1 << 4;
}

std::string im2col_rule(const TensorMap &map) {
  const std::size_t spatial = map.dims.size() - 2;
  if (map.dims.size() < 3 || map.box.size() != 2 || map.lower.size() != spatial ||
      map.upper.size() != spatial || map.steps.size() != spatial)
    return fmt::format("map {} needs a box of channels and points, and a lower and an upper corner "
                       "and a step for each dimension between the first and the last",
                       map.name);
  const std::int64_t limit = corner_limit(spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    if (!is_within(map.lower[i], -limit, limit - 1) || !is_within(map.upper[i], -limit, limit - 1))
      return fmt::format("corners of map {} need {} to {}; got {} and {}", map.name, -limit,
                         limit - 1, map.lower[i], map.upper[i]);
    if (!is_within(map.steps[i], 1, kMaxStep))
      return fmt::format("steps of map {} need 1 to {}; got {}", map.name, kMaxStep, map.steps[i]);
  }
  return is_within(map.box[1], 1, kMaxPoints)
             ? std::string()
             : fmt::format("map {} needs 1 to {} points; got {}", map.name, kMaxPoints, map.box[1]);
}

std::string tiled_rule(const TensorMap &map) {
  if (map.box.size() != map.dims.size() || !map.lower.empty() || !map.upper.empty())
    return fmt::format("map {} needs a box of as many dimensions as it has, and no corners",
                       map.name);
  if (!map.steps.empty() && map.steps.size() + 1 != map.dims.size())
    return fmt::format("map {} needs a step for each dimension from 1 on, or none", map.name);
  for (std::size_t i = 0; i < map.box.size(); ++i) {
    const std::int64_t step = i == 0 || map.steps.empty() ? 1 : map.steps[i - 1];
    if (!is_within(step, 1, kMaxStep))
      return fmt::format("steps of map {} need 1 to {}; got {}", map.name, kMaxStep, step);
    if (!is_within(map.box[i], 1, kMaxBox / step))
      return fmt::format("a box of map {} needs 1 to {} elements in steps of {}; got {}", map.name,
                         kMaxBox / step, step, map.box[i]);
  }
  return {};
}

std::string local_rule(const Kernel &kernel, const LocalRef &ref, DType type,
                       std::string_view what) {
  const Buffer &buffer = kernel[ref.buffer];
  if (buffer.space != Space::Local || buffer.type.elem != type)
    return fmt::format("{} needs local memory of {}; got {}", what, to_string({type, 1}),
                       buffer.name);
  return ref.index->type == kInt ? std::string()
                                 : fmt::format("an index of {} needs i32", buffer.name);
}

// What names blocks of a cluster: an int, within [low, high] where it is constant.
std::string cluster_rule(const Kernel &kernel, ExprRef named, std::int64_t low, std::int64_t high,
                         std::string_view what) {
  if (kernel.cluster < 2)
    return fmt::format("{} needs a cluster of several blocks", what);
  std::int64_t value = low;
  return named->type == kInt && (!is_constant(named, &value) || is_within(value, low, high))
             ? std::string()
             : fmt::format("{} needs i32 from {} to {}", what, low, high);
}

bool are_ints(const std::vector<ExprRef> &list) {
  return std::all_of(list.begin(), list.end(), [](ExprRef e) { return e->type == kInt; });
}

} // namespace

std::int64_t box_elems(const TensorMap &map) {
  std::int64_t elems = 1;
  for (const std::int64_t size : map.box)
    elems *= size;
  return elems;
}

std::int64_t box_bytes(const Kernel &kernel, const TensorMap &map) {
  return box_elems(map) * size_bytes(kernel[map.tensor].type.elem);
}

std::int64_t swizzled(std::int64_t at, int row_bytes) {
  const std::int64_t chunks = row_bytes / kChunkBytes;
  return at ^ (((at / (kSwizzleRows * kChunkBytes)) & (chunks - 1)) * kChunkBytes);
}

std::string tensor_map_rule(const Kernel &kernel, const TensorMap &map) {
  if (!is_identifier(map.name))
    return fmt::format("map name '{}' is not an identifier", map.name);
  const Buffer &tensor = kernel[map.tensor];
  if (tensor.space != Space::Global || map.offset < 0 || map.offset > tensor.elems)
    return fmt::format("map {} needs global memory from an element that it has; got {} + {}",
                       map.name, tensor.name, map.offset);
  const std::size_t rank = map.dims.size();
  if (rank < 1 || rank > kMaxRank || map.strides.size() != rank || map.strides[0] != 1)
    return fmt::format("map {} needs 1 to {} dimensions with strides, the first 1", map.name,
                       kMaxRank);
  const std::int64_t size = size_bytes(tensor.type.elem);
  std::int64_t last = map.offset;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!is_within(map.dims[i], 1, kMaxDim))
      return fmt::format("dimensions of map {} need 1 to {}; got {}", map.name, kMaxDim,
                         map.dims[i]);
    if (!is_within(map.strides[i], 0, kMaxStrideBytes / size) ||
        (i > 0 && map.strides[i] * size % kChunkBytes != 0))
      return fmt::format("strides of map {} need multiples of {} bytes; got {} elements", map.name,
                         kChunkBytes, map.strides[i]);
    last += (map.dims[i] - 1) * map.strides[i];
  }
  if (last >= tensor.elems || map.offset * size % kChunkBytes != 0)
    return fmt::format("map {} leaves {} or starts off {} bytes", map.name, tensor.name,
                       kChunkBytes);
  if (map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    return fmt::format("map {} needs a swizzle of 32, 64 or 128 bytes; got {}", map.name,
                       map.swizzle);
  const std::string broken = map.is_im2col() ? im2col_rule(map) : tiled_rule(map);
  if (!broken.empty())
    return broken;
  return map.box[0] * size == map.swizzle
             ? std::string()
             : fmt::format("a box of map {} needs rows of {} bytes; got {} elements", map.name,
                           map.swizzle, map.box[0]);
}

std::string ticket_rule(const Kernel &kernel, const Ticket &ticket) {
  if (std::string broken = local_rule(kernel, ticket.to, DType::I32, "ticket"); !broken.empty())
    return broken;
  const Buffer &counts = kernel[ticket.counts];
  return counts.counts && ticket.index->type == kInt
             ? std::string()
             : fmt::format("a ticket needs an i32 index of counts; {} is none", counts.name);
}

std::string remote_load_rule(const Kernel &kernel, const Load &load) {
  if (kernel[load.buffer].space != Space::Local || load.valid != nullptr || load.lane_stride != 1)
    return "what is read of another block is neighbours in local memory";
  return cluster_rule(kernel, load.rank, 0, kernel.cluster - 1, "the rank of a load");
}

std::string mbarrier_rule(const Kernel &kernel, const Mbarrier &mbarrier) {
  if (std::string broken = local_rule(kernel, mbarrier.at, DType::I64, "mbarrier"); !broken.empty())
    return broken;
  const bool has_value = mbarrier.value != nullptr;
  if (has_value != (mbarrier.op != MbarrierOp::Arrive) ||
      (has_value && mbarrier.value->type != kInt))
    return "mbarrier needs an i32 value, and none to arrive";
  std::int64_t count = 0;
  if (mbarrier.op == MbarrierOp::Init &&
      (!is_constant(mbarrier.value, &count) || !is_within(count, 1, kMaxArrivals)))
    return fmt::format("mbarrier_init needs a constant of 1 to {} arrivals", kMaxArrivals);
  if (mbarrier.for_cluster && (kernel.cluster < 2 || (mbarrier.op != MbarrierOp::Arrive &&
                                                      mbarrier.op != MbarrierOp::Wait)))
    return "only an arrival and a wait order what blocks of a cluster do";
  if (mbarrier.rank == nullptr)
    return {};
  return mbarrier.op == MbarrierOp::Arrive
             ? cluster_rule(kernel, mbarrier.rank, 0, kernel.cluster - 1, "the rank of an mbarrier")
             : "a rank of a block is for arriving at its mbarrier";
}

std::string tensor_copy_rule(const Kernel &kernel, const TensorCopy &copy) {
  if (to_int(copy.map) < 0 || static_cast<std::size_t>(to_int(copy.map)) >= kernel.maps.size())
    return "tensor_copy of a map that is not there";
  const TensorMap &map = kernel[copy.map];
  for (const std::string &broken :
       {local_rule(kernel, copy.to, kernel[map.tensor].type.elem, "tensor_copy"),
        local_rule(kernel, copy.signals, DType::I64, "tensor_copy")})
    if (!broken.empty())
      return broken;
  const std::size_t offsets = map.is_im2col() ? map.dims.size() - 2 : 0;
  if (copy.at.size() != map.dims.size() || copy.offsets.size() != offsets || !are_ints(copy.at) ||
      !are_ints(copy.offsets))
    return fmt::format("tensor_copy of {} needs {} coordinates and {} offsets of i32", map.name,
                       map.dims.size(), offsets);
  if (copy.ranks == nullptr)
    return {};
  const std::int64_t all = (std::int64_t{1} << kernel.cluster) - 1;
  return cluster_rule(kernel, copy.ranks, 1, all, "the mask of ranks of a tensor_copy");
}

std::string tensor_store_rule(const Kernel &kernel, const TensorStore &store) {
  if (to_int(store.map) < 0 || static_cast<std::size_t>(to_int(store.map)) >= kernel.maps.size())
    return "tensor_store to a map that is not there";
  const TensorMap &map = kernel[store.map];
  if (!kernel[map.tensor].written)
    return fmt::format("tensor_store needs a map of a buffer that is written; got {}", map.name);
  if (std::string broken =
          local_rule(kernel, store.from, kernel[map.tensor].type.elem, "tensor_store");
      !broken.empty())
    return broken;
  return store.at.size() == map.dims.size() && are_ints(store.at)
             ? std::string()
             : fmt::format("tensor_store to {} needs {} coordinates of i32", map.name,
                           map.dims.size());
}

std::string store_sync_rule(const StoreSync &sync) {
  return is_within(sync.pending, 0, kMaxPending)
             ? std::string()
             : fmt::format("store_wait needs 0 to {} groups; got {}", kMaxPending, sync.pending);
}

namespace {

// How an operand of wgmma of elements of `size` bytes lies.
std::string laid_rule(int row_bytes, std::int64_t panel, std::int64_t lines, std::int64_t size) {
  if (row_bytes != 32 && row_bytes != 64 && row_bytes != 128)
    return fmt::format("wgmma needs rows of 32, 64 or 128 bytes; got {}", row_bytes);
  if (panel < 0 || (panel != 0 && (size != 2 || row_bytes != kTurnedBytes)))
    return fmt::format("a turned operand of wgmma needs a type of 2 bytes in rows of {}",
                       kTurnedBytes);
  const bool are_apart = is_within(lines * size, kSwizzleRows * row_bytes, kMostLines) &&
                         lines * size % row_bytes == 0;
  return lines == 0 || (panel == 0 && are_apart)
             ? std::string()
             : fmt::format("lines of wgmma are whole rows, {} to {} bytes apart; got {} elements",
                           kSwizzleRows * row_bytes, kMostLines, lines);
}

} // namespace

std::string wgmma_rule(const Kernel &kernel, const Wgmma &wgmma) {
  if (wgmma.op == nullptr || !is_wgmma(*wgmma.op))
    return "wgmma needs a row of the table of core instructions of four warps";
  const CoreOp &op = *wgmma.op;
  for (const std::string &broken : {register_rule(kernel, wgmma.acc, {op.d.type, op.d.values()}),
                                    local_rule(kernel, wgmma.a, op.a.type, "wgmma"),
                                    local_rule(kernel, wgmma.b, op.b.type, "wgmma")})
    if (!broken.empty())
      return fmt::format("wgmma.{}: {}", op.name, broken);
  for (const std::string &broken :
       {laid_rule(wgmma.a_row_bytes, wgmma.a_panel, wgmma.a_lines, size_bytes(op.a.type)),
        laid_rule(wgmma.b_row_bytes, wgmma.b_panel, wgmma.b_lines, size_bytes(op.b.type))})
    if (!broken.empty())
      return broken;
  if (wgmma.accumulate != nullptr && wgmma.accumulate->type != Type{DType::Bool, 1})
    return "wgmma accumulates under one bool";
  return {};
}

std::string wgmma_sync_rule(const WgmmaSync &sync) {
  return is_within(sync.pending, 0, kMaxPending)
             ? std::string()
             : fmt::format("wgmma_wait needs 0 to {} groups; got {}", kMaxPending, sync.pending);
}

std::string register_limit_rule(const RegisterLimit &limit) {
  return is_within(limit.count, kLeastRegisters, kMostRegisters) && limit.count % 8 == 0
             ? std::string()
             : fmt::format("registers_{} needs a multiple of 8 from {} to {}; got {}",
                           limit.more ? "more" : "less", kLeastRegisters, kMostRegisters,
                           limit.count);
}

} // namespace tilefuse::kernel
