// SPDX-License-Identifier: Apache-2.0
// How a tensor lies to tensor copies (TMA), and what one of them brings, dimensions innermost first: a
// box of points in steps, or with corners the points of an image that an im2col map walks (the fields
// are explained at kernel::TensorMap); and the limits of both (CUDA driver API, cuTensorMapEncodeTiled
// and cuTensorMapEncodeIm2col). Schedules are legal within them, and kernels are verified by them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilefuse {

struct TensorMap {
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims = {}, strides = {}, box = {}, lower = {}, upper = {}, steps = {};
  bool is_im2col() const { return !lower.empty(); }
};

inline constexpr std::int64_t kMapAlign = 16; // bytes, of starts and strides
inline constexpr std::int64_t kMostRank = 5;
inline constexpr std::int64_t kMostBox = 256;     // points that a box spans in a dimension
inline constexpr std::int64_t kMostPoints = 1024; // of an image, by one copy
inline constexpr std::int64_t kMostSpatial = kMostRank - 2; // dimensions of an image

// Why no tensor copy brings the map's boxes: it has too many dimensions, the boxes too many points or
// too long steps, or corners lie too far out. A box that is not known yet is none.
std::optional<std::string> wrong_shape(const TensorMap &map);
// What is added to an image's points, in each of so many dimensions, is at most this.
std::int64_t most_offset(std::int64_t spatial);
// The first start or stride of elements of `size` bytes that copies cannot take, if there is one; the
// first stride is that of the contiguous dimension.
std::optional<std::int64_t> misaligned(const TensorMap &map, std::int64_t size);

} // namespace tilefuse
