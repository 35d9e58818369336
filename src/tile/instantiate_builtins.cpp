// SPDX-License-Identifier: Apache-2.0
// Built-ins that make a tensor of their own: reshape, permute, broadcast,
// softmax, and constants.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/index.h"
#include "program/host_tensor.h"
#include "tile/instantiate.h"
#include "tile/prelude.h"

namespace tilefuse::tile {

using program::Affine;
using program::Shape;
using program::TensorId;

namespace {

// The subscript that is index `k` of `count`.
Affine single_index(std::size_t k, std::size_t count) {
  Affine affine{std::vector<Rational>(count), Rational(0)};
  affine.coeff[k] = 1;
  return affine;
}

// Whether the order moves no element: dimensions larger than 1 keep their
// order.
bool keeps_order(const std::vector<std::size_t> &axes, const Shape &shape) {
  std::size_t last = 0;
  for (const std::size_t axis : axes) {
    if (shape[axis] == 1)
      continue;
    if (axis < last)
      return false;
    last = axis;
  }
  return true;
}

std::int64_t elems_before_last(const Shape &shape) {
  return program::elems(Shape(shape.begin(), shape.end() - 1));
}

} // namespace

Shape Instantiation::sizes(const Frame &frame, const std::string &what, Position at,
                           std::span<const Expression> list) const {
  Shape shape;
  std::int64_t elems = 1;
  for (const Expression &e : list) {
    const std::int64_t size = frame.integer(e);
    if (size < least_size_)
      frame.fail(ErrorCode::Shape, e.at,
                 fmt::format("a size is {}, it must be at least {}", size, least_size_));
    shape.push_back(size);
    if (__builtin_mul_overflow(elems, size, &elems) || elems > (std::int64_t{1} << 62))
      frame.fail(
          ErrorCode::Limit, at,
          fmt::format("{}[{}, …] has more than 2^62 elements", what, fmt::join(shape, ", ")));
  }
  return shape;
}

TensorId Instantiation::call_builtin(const Frame &frame, const Expression &e, Builtin builtin) {
  if (builtin == Builtin::Fill)
    return fill(frame, e, 1, DType::F32);
  if (builtin == Builtin::FillLike)
    return fill(frame, e, 2, program_[frame.tensor(e.args[0].name)].type);
  const TensorId in = tensor_of(frame, e.args[0], e.name);
  if (builtin == Builtin::Reshape)
    return reshape(frame, e, in);
  if (builtin == Builtin::Permute)
    return permute(frame, e, in);
  if (builtin == Builtin::Shape)
    return shape_of(frame, e, in);
  if (builtin == Builtin::Softmax)
    return softmax(frame, e, in, "softmax_rows");
  if (builtin == Builtin::LogSoftmax)
    return softmax(frame, e, in, "log_softmax_rows");
  TILEFUSE_CHECK(builtin == Builtin::Broadcast, "a built-in that makes no tensor of its own");
  return broadcast(frame, e, in);
}

TensorId Instantiation::reshape(const Frame &frame, const Expression &e, TensorId in) {
  return view(frame, e.at, in, sizes(frame, e.name, e.at, std::span(e.args).subspan(1)));
}

TensorId Instantiation::view(const Frame &frame, Position at, TensorId in, Shape shape) {
  if (shape == program_[in].shape)
    return in;
  const std::int64_t have = program::elems(program_[in].shape);
  const std::int64_t need = program::elems(shape);
  if (have != need)
    frame.fail(ErrorCode::Shape, at,
               fmt::format("{} has {} elements, [{}] needs {}", describe(in), have,
                           fmt::join(shape, ", "), need));
  const DType type = program_[in].type;
  return emit(frame, at,
              {program_[in].name, type, std::move(shape), program::Role::Temporary, nullptr},
              program::View{in});
}

// Over the last dimension, as the columns of a matrix.
TensorId Instantiation::softmax(const Frame &frame, const Expression &e, TensorId in,
                                const std::string &rows) {
  const Shape shape = program_[in].shape;
  if (shape.empty())
    frame.fail(ErrorCode::Shape, e.at, fmt::format("{} of a scalar; a row is needed", e.name));
  const Shape said = sizes(frame, e.name, e.at, std::span(e.args).subspan(1));
  if (!said.empty() && said != shape)
    frame.fail(
        ErrorCode::Shape, e.at,
        fmt::format("{} is {}, the call says [{}]", e.name, describe(in), fmt::join(said, ", ")));
  const std::int64_t columns = shape.back();
  const TensorId matrix = view(frame, e.at, in, {elems_before_last(shape), columns});
  const TensorId result =
      apply(prelude().at(rows), std::span(&matrix, 1), {}, &frame, e.at).front();
  return view(frame, e.at, result, shape);
}

TensorId Instantiation::permute(const Frame &frame, const Expression &e, TensorId in) {
  const Shape &from = program_[in].shape;
  std::vector<std::size_t> axes;
  for (std::size_t i = 1; i < e.args.size(); ++i) {
    const std::int64_t axis = frame.integer(e.args[i]);
    const auto k = static_cast<std::size_t>(axis);
    const bool known = axis >= 0 && k < from.size();
    if (!known || std::find(axes.begin(), axes.end(), k) != axes.end())
      frame.fail(ErrorCode::Shape, e.args[i].at,
                 fmt::format("axis {} of {} is {}", axis, describe(in),
                             known ? "named twice" : "not there"));
    axes.push_back(k);
  }
  const std::size_t rank = from.size();
  if (axes.size() != rank)
    frame.fail(ErrorCode::Shape, e.at,
               fmt::format("got {} axes, {} has {}", axes.size(), describe(in), rank));
  Shape shape;
  for (const std::size_t axis : axes)
    shape.push_back(from[axis]);
  if (std::is_sorted(axes.begin(), axes.end()))
    return in;

  program::Tensor result{program_[in].name, program_[in].type, shape, program::Role::Temporary,
                         nullptr};
  if (keeps_order(axes, from))
    return emit(frame, e.at, std::move(result), program::View{in});
  program::Contraction c;
  c.agg = program::Agg::Assign;
  c.in.push_back({in, std::vector<Affine>(rank)});
  for (std::size_t k = 0; k < rank; ++k) {
    c.indices.push_back(fmt::format("i{}", k));
    c.out.push_back(single_index(k, rank));
    c.in[0].subscripts[axes[k]] = single_index(k, rank);
  }
  return emit(frame, e.at, std::move(result), std::move(c));
}

TensorId Instantiation::broadcast(const Frame &frame, const Expression &e, TensorId in) {
  Shape shape = sizes(frame, e.name, e.at, std::span(e.args).subspan(1));
  const Shape &from = program_[in].shape;
  if (shape == from)
    return in;
  bool fits = from.size() <= shape.size();
  for (std::size_t d = 0; fits && d < from.size(); ++d)
    fits = from[d] == 1 || from[d] == shape[shape.size() - from.size() + d];
  if (!fits)
    frame.fail(ErrorCode::Shape, e.at,
               fmt::format("{} does not broadcast to [{}]", describe(in), fmt::join(shape, ", ")));
  const DType type = program_[in].type;
  return emit(frame, e.at,
              {program_[in].name, type, std::move(shape), program::Role::Temporary, nullptr},
              program::Map{program::operand(0, type), {in}});
}

program::HostTensor Instantiation::zeros(const Frame &frame, Position at, DType type,
                                         const Shape &shape) {
  const std::int64_t elems = program::elems(shape);
  if (elems > kMaxFill - filled_)
    frame.fail(ErrorCode::Limit, at,
               fmt::format("[{}] has {} elements, the constants of a function have at most {}",
                           fmt::join(shape, ", "), elems, kMaxFill));
  filled_ += elems;
  return program::make_host_tensor("constant", type, shape);
}

TensorId Instantiation::constant(program::HostTensor host) {
  auto data = std::make_shared<const program::Bytes>(std::move(host.data));
  return program_.add({host.name, host.type, host.shape, program::Role::Constant, std::move(data)});
}

TensorId Instantiation::fill(const Frame &frame, const Expression &e, std::size_t fixed,
                             DType type) {
  const Shape shape = sizes(frame, e.name, e.at, std::span(e.args).subspan(fixed));
  program::HostTensor host = zeros(frame, e.at, type, shape);
  host.name = "fill";
  if (host.data.empty())
    return constant(std::move(host));
  program::set(host, 0, frame.number(e.args[fixed - 1]));
  for (std::size_t done = static_cast<std::size_t>(size_bytes(type)); done < host.data.size();) {
    const std::size_t more = std::min(done, host.data.size() - done);
    std::copy_n(host.data.begin(), more, host.data.begin() + static_cast<std::ptrdiff_t>(done));
    done += more;
  }
  return constant(std::move(host));
}

TensorId Instantiation::coordinates(const Frame &frame, const Expression &e, TensorId in) {
  const Shape &shape = program_[in].shape;
  const std::int64_t axis = frame.integer(e.args[1]);
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
    frame.fail(ErrorCode::Shape, e.args[1].at,
               fmt::format("{} has no dimension {}; dimensions count from 0", describe(in), axis));
  Shape aligned(shape.size() - static_cast<std::size_t>(axis), 1);
  aligned.front() = shape[at(axis)];
  program::HostTensor host = zeros(frame, e.at, DType::I32, aligned);
  for (std::int64_t i = 0; i < aligned.front(); ++i)
    program::set(host, i, static_cast<double>(i));
  return constant(std::move(host));
}

TensorId Instantiation::shape_of(const Frame &frame, const Expression &e, TensorId in) {
  const Shape &shape = program_[in].shape;
  if (shape.empty())
    frame.fail(ErrorCode::Shape, e.at, "the shape of a scalar has no elements");
  program::HostTensor host =
      zeros(frame, e.at, DType::I32, {static_cast<std::int64_t>(shape.size())});
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > std::numeric_limits<std::int32_t>::max())
      frame.fail(ErrorCode::Limit, e.at,
                 fmt::format("dimension {} of {} does not fit in i32", d, describe(in)));
    program::set(host, static_cast<std::int64_t>(d), static_cast<double>(shape[d]));
  }
  return constant(std::move(host));
}

} // namespace tilefuse::tile
