// SPDX-License-Identifier: Apache-2.0
#include "lower/expressions.h"

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::lower {

using kernel::Builder;

namespace {

constexpr std::int64_t kChunkBytes = 16; // that swizzles exchange

} // namespace

std::vector<ExprRef> digits_of(Builder &build, ExprRef number,
                               const std::vector<std::int64_t> &sizes) {
  std::vector<ExprRef> digits(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    digits[i] = i == 0 ? number : build.mod(number, sizes[i]);
    number = build.div(number, sizes[i]);
  }
  return digits;
}

std::vector<std::int64_t> extents(const nest::Nest &nest, const std::vector<IndexId> &indices) {
  std::vector<std::int64_t> sizes;
  for (const IndexId i : indices)
    sizes.push_back(extent(nest, i));
  return sizes;
}

void place_digits(const Context &cx, const std::vector<IndexId> &indices, ExprRef number,
                  const std::string &prefix, Positions &positions, Stmts &list) {
  const std::vector<ExprRef> digits = digits_of(cx.build, number, extents(cx.nest, indices));
  for (std::size_t k = indices.size(); k-- > 0;)
    positions[indices[k]] =
        named(cx.build, list, prefix + cx.nest.indices[indices[k]].name, digits[k]);
}

ExprRef also_inside(Builder &build, ExprRef all, ExprRef value, std::int64_t size) {
  all = build.logical_and(all, build.scalar(ScalarOp::Ge, {value, build.integer(0)}));
  return build.logical_and(all, build.less(value, size));
}

ExprRef count_if(Builder &build, ExprRef exists, std::int64_t count) {
  return exists == nullptr ? nullptr : build.select(exists, count, 0);
}

ExprRef swizzled(Builder &build, const schedule::Swizzle &swizzle, ExprRef chunk, ExprRef row) {
  const ExprRef bits = build.mod(build.div(row, swizzle.divisor), swizzle.modulus);
  return build.scalar(ScalarOp::BitXor, {chunk, bits});
}

// Chunks are exchanged, and what is inside one is not.
ExprRef run_in_row(Builder &build, std::int64_t elem_bytes, std::int64_t elems, ExprRef row,
                   std::int64_t apart, ExprRef along) {
  const std::int64_t chunk = kChunkBytes / elem_bytes;
  const schedule::Swizzle swizzle = schedule::core_swizzle(elems * elem_bytes);
  const ExprRef number = build.add(apart / chunk, build.div(along, chunk));
  return build.add(build.mul(swizzled(build, swizzle, number, row), chunk),
                   build.mod(along, chunk));
}

kernel::MapId declare_map(const Context &cx, const TensorMap &map, std::string name,
                          BufferId tensor, std::int64_t row_bytes) {
  return cx.build.tensor_map({.name = std::move(name),
                              .tensor = tensor,
                              .offset = map.offset,
                              .dims = map.dims,
                              .strides = map.strides,
                              .box = map.box,
                              .lower = map.lower,
                              .upper = map.upper,
                              .steps = map.steps,
                              .swizzle = static_cast<int>(row_bytes)});
}

ExprRef take_digit(Builder &build, ExprRef &number, std::int64_t count) {
  const ExprRef digit = build.mod(number, count);
  number = build.div(number, count);
  return digit;
}

StmtRef by_item(Builder &build, std::int64_t item, StmtRef body) {
  return build.branch(build.equal(build.lane(), item), body);
}

ExprRef item_of_warp(Builder &build) { return build.mod(build.lane(), kCoreLanes); }

StmtRef by_first_item(Builder &build, StmtRef body) {
  return build.branch(build.equal(item_of_warp(build), 0), body);
}

} // namespace tilefuse::lower
