// SPDX-License-Identifier: Apache-2.0
// Rules of tensor maps, and of what names local memory and blocks of a cluster.
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

} // namespace

std::string local_rule(const Kernel &kernel, const LocalRef &ref, DType type,
                       std::string_view what) {
  const Buffer &buffer = kernel[ref.buffer];
  if (buffer.space != Space::Local || buffer.type.elem != type)
    return fmt::format("{} needs local memory of {}; got {}", what, to_string({type, 1}),
                       buffer.name);
  return ref.index->type == kInt ? std::string()
                                 : fmt::format("an index of {} needs i32", buffer.name);
}

std::string cluster_rule(const Kernel &kernel, ExprRef named, std::int64_t low, std::int64_t high,
                         std::string_view what) {
  if (kernel.cluster < 2)
    return fmt::format("{} needs a cluster of several blocks", what);
  std::int64_t value = low;
  return named->type == kInt && (!is_constant(named, &value) || is_within(value, low, high))
             ? std::string()
             : fmt::format("{} needs i32 from {} to {}", what, low, high);
}

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

std::string remote_load_rule(const Kernel &kernel, const Load &load) {
  if (kernel[load.buffer].space != Space::Local || load.valid != nullptr || load.lane_stride != 1)
    return "what is read of another block is neighbours in local memory";
  return cluster_rule(kernel, load.rank, 0, kernel.cluster - 1, "the rank of a load");
}

} // namespace tilefuse::kernel
