// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <limits>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kMaxElems = std::int64_t{1} << 62;

[[noreturn]] void fail(const Shape &shape, const char *what) {
  throw Error(ErrorCode::Limit,
              fmt::format("a tensor of shape [{}] has {}", fmt::join(shape, ", "), what));
}

std::int64_t checked_product(std::int64_t a, std::int64_t b, const Shape &shape) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMaxElems)
    fail(shape, "more than 2^62 elements");
  return product;
}

} // namespace

std::int64_t elems(const Shape &shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t dim : shape) {
    if (dim < 0)
      fail(shape, "a negative dimension");
    if (dim == 0)
      empty = true;
    else
      count = checked_product(count, dim, shape);
  }
  return empty ? 0 : count;
}

Shape row_major(const Shape &shape) {
  Shape strides(shape.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    if (shape[d] > 1)
      stride = checked_product(stride, shape[d], shape);
  }
  return strides;
}

TensorId Program::add(Tensor tensor) {
  TILEFUSE_CHECK(tensors.size() < static_cast<std::size_t>(std::numeric_limits<int>::max()),
                 "too many tensors in a program");
  tensors.push_back(std::move(tensor));
  return TensorId{static_cast<int>(tensors.size()) - 1};
}

bool is_index(const Affine &affine, std::size_t index) {
  for (std::size_t i = 0; i < affine.coeff.size(); ++i)
    if (affine.coeff[i] != Rational(i == index ? 1 : 0))
      return false;
  return index < affine.coeff.size() && affine.constant.is_zero();
}

bool takes_operands(Comb comb, std::size_t count) {
  if (comb == Comb::Term)
    return count >= 1;
  if (comb == Comb::Pick)
    return count >= 2;
  if (comb == Comb::None)
    return count == 1;
  return count == (comb == Comb::Select ? 3 : 2);
}

std::vector<TensorId> reads(const Statement &statement) {
  if (const auto *view = std::get_if<View>(&statement.body))
    return {view->in};
  if (const auto *map = std::get_if<Map>(&statement.body))
    return map->operands;
  const auto &contraction = std::get<Contraction>(statement.body);
  std::vector<TensorId> result;
  for (const Access &access : contraction.in)
    result.push_back(access.tensor);
  if (contraction.init)
    result.push_back(*contraction.init);
  return result;
}

} // namespace tilefuse::program
