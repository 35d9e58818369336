// SPDX-License-Identifier: Apache-2.0
#include "target/tensor_map.h"

#include <iterator>

#include "base/range.h"

namespace tilefuse {
namespace {

constexpr std::int64_t kMostStep = 8; // from one pixel of a box to the next, or of an image

// Corners and offsets of im2col hold fewer bits the more spatial dimensions there are.
struct Limits {
  std::int64_t corner;
  std::int64_t offset;
};
Limits limits_of(std::int64_t spatial) {
  if (spatial == 1)
    return {1 << 15, 65535};
  return spatial == 2 ? Limits{1 << 7, 255} : Limits{1 << 4, 31};
}

std::optional<std::string> wrong_image(const TensorMap &map) {
  const std::int64_t spatial = std::ssize(map.steps);
  const std::int64_t points = map.box.empty() ? 1 : map.box.back();
  if (auto reason = outside(
          {{"im2col.rank", spatial, 1, kMostSpatial}, {"im2col.points", points, 1, kMostPoints}}))
    return reason;
  const std::int64_t corner = limits_of(spatial).corner;
  for (std::size_t i = 0; i < map.steps.size(); ++i)
    if (auto reason = outside({{"im2col.lower", map.lower[i], -corner, corner - 1},
                               {"im2col.upper", map.upper[i], -corner, corner - 1},
                               {"im2col.stride", map.steps[i], 1, kMostStep}}))
      return reason;
  return {};
}

} // namespace

std::int64_t most_offset(std::int64_t spatial) { return limits_of(spatial).offset; }

std::optional<std::string> wrong_shape(const TensorMap &map) {
  if (auto reason = outside({"tensor_map.rank", std::ssize(map.dims), 1, kMostRank}))
    return reason;
  if (map.is_im2col())
    return wrong_image(map);
  for (std::size_t i = 0; i < map.box.size(); ++i) {
    const std::int64_t step = i == 0 || map.steps.empty() ? 1 : map.steps[i - 1];
    if (auto reason = outside(
            {{"box.stride", step, 1, kMostStep}, {"box.points", map.box[i] * step, 1, kMostBox}}))
      return reason;
  }
  return {};
}

std::optional<std::int64_t> misaligned(const TensorMap &map, std::int64_t size) {
  for (std::size_t i = 1; i < map.strides.size(); ++i)
    if (map.strides[i] <= 0 || map.strides[i] * size % kMapAlign != 0)
      return map.strides[i];
  return map.offset >= 0 && map.offset * size % kMapAlign == 0 ? std::optional<std::int64_t>()
                                                               : map.offset;
}

} // namespace tilefuse
