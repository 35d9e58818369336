// SPDX-License-Identifier: Apache-2.0
#include "program/storage/padded_rows.h"

#include <algorithm>

namespace tilefuse::program {
namespace {

constexpr std::int64_t kRowBytes = 16;   // a work-item's widest access, and what tensor copies ask
constexpr std::int64_t kMostPadding = 8; // of a row, this part

} // namespace

Shape padded_rows(const Shape &shape, DType type) {
  Shape strides = row_major(shape);
  if (shape.size() < 2)
    return strides;
  const std::int64_t whole = std::max<std::int64_t>(kRowBytes / size_bytes(type), 1);
  const std::int64_t row = (shape.back() + whole - 1) / whole * whole;
  if ((row - shape.back()) * kMostPadding > shape.back())
    return strides;
  Shape padded = shape;
  padded.back() = row;
  return row_major(padded);
}

} // namespace tilefuse::program
