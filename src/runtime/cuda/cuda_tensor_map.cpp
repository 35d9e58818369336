// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_tensor_map.h"

#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "target/dtype_traits.h"

namespace tilefuse::runtime {
namespace {

// The driver's numbers.
constexpr int kNoInterleave = 0;
constexpr int kPromote256 = 3; // second-level cache lines
constexpr int kFillZero = 0;

// A driver up to this version sets a bit too many in im2col maps of small tensors (CUTLASS clears
// it too).
constexpr int kLastWrongDriver = 13010;
constexpr std::int64_t kSmallBytes = 131072;
constexpr std::uint64_t kWrongBit = std::uint64_t{1} << 21;

int swizzle_number(std::int64_t bytes) { return bytes == 32 ? 1 : bytes == 64 ? 2 : 3; }

template <typename To> std::vector<To> as(const std::vector<std::int64_t> &list) {
  std::vector<To> result;
  for (const std::int64_t value : list)
    result.push_back(static_cast<To>(value));
  return result;
}

std::int64_t extent_bytes(const TensorView &view) {
  return view.strides.empty() ? 0 : view.strides.back() * view.dims.back();
}

cuda::Result encode(const cuda::DriverApi &api, const TensorView &view, void *base,
                    EncodedMap &map) {
  const auto rank = static_cast<unsigned>(view.dims.size());
  const auto dims = as<unsigned long long>(view.dims);
  const auto strides = as<unsigned long long>(view.strides);
  auto box = as<unsigned>(view.box);
  std::vector<unsigned> steps(view.dims.size(), 1);
  for (std::size_t i = 0; i < view.steps.size(); ++i)
    steps[i + 1] = static_cast<unsigned>(view.steps[i]);
  const bool is_tiled = view.lower.empty();
  // The driver counts what a box steps over.
  for (std::size_t i = 0; is_tiled && i < box.size(); ++i)
    box[i] *= steps[i];
  if (is_tiled)
    return api.cuTensorMapEncodeTiled(&map, traits(view.type).tensor_map, rank, base, dims.data(),
                                      strides.data(), box.data(), steps.data(), kNoInterleave,
                                      swizzle_number(view.swizzle), kPromote256, kFillZero);
  const auto lower = as<int>(view.lower);
  const auto upper = as<int>(view.upper);
  return api.cuTensorMapEncodeIm2col(&map, traits(view.type).tensor_map, rank, base, dims.data(),
                                     strides.data(), lower.data(), upper.data(), box[0], box[1],
                                     steps.data(), kNoInterleave, swizzle_number(view.swizzle),
                                     kPromote256, kFillZero);
}

} // namespace

EncodedMap encode_map(const cuda::DriverApi &api, const TensorView &view, cuda::DevicePtr base,
                      std::string_view kernel) {
  if (api.cuTensorMapEncodeTiled == nullptr || api.cuTensorMapEncodeIm2col == nullptr)
    throw Error(ErrorCode::Device,
                fmt::format("kernel '{}' needs tensor maps: a driver of CUDA 12 or later", kernel));
  EncodedMap map;
  const cuda::DevicePtr start = base + static_cast<cuda::DevicePtr>(view.offset);
  check(api, encode(api, view, reinterpret_cast<void *>(start), map),
        fmt::format("the tensor map of argument {} of kernel '{}'", view.argument, kernel));
  int version = 0;
  if (!view.lower.empty() && extent_bytes(view) < kSmallBytes &&
      api.cuDriverGetVersion(&version) == 0 && version <= kLastWrongDriver)
    map.words[1] &= ~kWrongBit;
  return map;
}

} // namespace tilefuse::runtime
