// SPDX-License-Identifier: Apache-2.0
// Rules of tensor maps, and of what names local memory and blocks of a cluster.
#include <algorithm>

#include <fmt/format.h>

#include "kernel/build.h"
#include "kernel/rules.h"
#include "target/tensor_map.h"

namespace tilefuse::kernel {
namespace {

constexpr std::int64_t kChunkBytes = 16;
constexpr std::int64_t kSwizzleRows = 8;
constexpr std::int64_t kMaxDim = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStrideBytes = std::int64_t{1} << 40;

bool is_within(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value >= low && value <= high;
}

// A box, and of an image corners and steps, for as many dimensions as there are.
std::string fields_rule(const TensorMap &map) {
  const std::size_t rank = map.dims.size();
  const std::size_t spatial = map.is_im2col() && rank > 2 ? rank - 2 : 0;
  const bool has_steps = map.is_im2col() ? map.steps.size() == spatial
                                         : map.steps.empty() || map.steps.size() + 1 == rank;
  const bool has_corners = map.lower.size() == spatial && map.upper.size() == spatial;
  const bool has_box = map.box.size() == (map.is_im2col() ? 2 : rank);
  return has_steps && has_corners && has_box
             ? std::string()
             : fmt::format(
                   "map {} needs a box of as many dimensions as it has, and steps for each "
                   "from 1 on or none; or of channels and points, and corners and steps for "
                   "each between the first and the last",
                   map.name);
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
  if (rank < 1 || map.strides.size() != rank || map.strides[0] != 1)
    return fmt::format("map {} needs dimensions with strides, the first 1", map.name);
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
  if (std::string broken = fields_rule(map); !broken.empty())
    return broken;
  const tilefuse::TensorMap shape = {.offset = map.offset,
                                     .dims = map.dims,
                                     .strides = map.strides,
                                     .box = map.box,
                                     .lower = map.lower,
                                     .upper = map.upper,
                                     .steps = map.steps};
  if (const std::optional<std::string> wrong = wrong_shape(shape))
    return fmt::format("map {}: {}", map.name, *wrong);
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
