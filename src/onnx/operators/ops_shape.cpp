// SPDX-License-Identifier: Apache-2.0
// Operators that change shapes, repeat or permute elements, and make constants.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/index.h"
#include "onnx/constants.h"
#include "onnx/operators.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::size_t kLargestRank = 6; // of permute and expand

// D0, D1, … of the expand and similar functions.
tile::Attributes numbered(const std::string &prefix, const program::Shape &values) {
  tile::Attributes attributes;
  for (std::size_t i = 0; i < values.size(); ++i)
    attributes[fmt::format("{}{}", prefix, i)] = values[i];
  return attributes;
}

void check_rank(const Call &call, std::size_t rank) {
  if (rank > kLargestRank)
    call.fail(ErrorCode::Unsupported,
              fmt::format("its rank is {}; at most {} is supported", rank, kLargestRank));
}

program::Shape resolve_reshape(const Call &call, const program::Shape &from, Ints wanted) {
  if (!wanted.empty() && !from.empty())
    wanted[0] = call.batch_for(wanted[0], from[0]);
  const bool copies_zero = !call.flag("allowzero", false);
  std::int64_t *inferred = nullptr;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < -1)
      call.fail(ErrorCode::Shape, fmt::format("its new shape is {}", to_text(wanted)));
    if (wanted[i] == 0 && copies_zero) {
      if (i >= from.size())
        call.fail(ErrorCode::Shape,
                  fmt::format("dimension {} is 0, but {} lacks it", i, to_text(from)));
      wanted[i] = from[i];
    }
    if (wanted[i] != -1)
      continue;
    if (inferred)
      call.fail(ErrorCode::Shape, "its new shape holds -1 twice");
    inferred = &wanted[i];
  }
  if (inferred) {
    *inferred = 1;
    const std::int64_t known = call.elems(wanted);
    *inferred = known == 0 ? 0 : program::elems(from) / known;
  }
  return wanted;
}

std::vector<bool> marked_axes(const Call &call, const Ints &axes, std::size_t rank) {
  std::vector<bool> marked(rank, false);
  for (const std::int64_t axis : axes) {
    const std::size_t i = call.resolve_axis(axis, rank);
    if (marked[i])
      call.fail(ErrorCode::Shape, fmt::format("axis {} is named twice", axis));
    marked[i] = true;
  }
  return marked;
}

Ints permutation(const Call &call, std::size_t rank) {
  Ints perm = call.integers("perm");
  if (!call.has_attribute("perm")) {
    perm.resize(rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted.size() != rank || sorted[i] != static_cast<std::int64_t>(i))
      call.fail(ErrorCode::Shape,
                fmt::format("perm {} is no permutation of {} axes", to_text(perm), rank));
  return perm;
}

// Only dimensions of size 1 change places, so that no element moves.
bool moves_nothing(const Ints &perm, const program::Shape &shape) {
  std::int64_t last = -1;
  for (const std::int64_t axis : perm) {
    if (shape[at(axis)] == 1)
      continue;
    if (axis < last)
      return false;
    last = axis;
  }
  return true;
}

program::Shape broadcast_shape(const Call &call, const program::Shape &from, Ints to) {
  if (to.size() < from.size())
    to.insert(to.begin(), from.size() - to.size(), 1);
  const std::size_t shift = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t &dim = to[shift + i];
    if (dim == 1)
      dim = from[i];
    if (dim != from[i] && from[i] != 1)
      call.fail(ErrorCode::Shape,
                fmt::format("{} does not broadcast to {}", to_text(from), to_text(to)));
  }
  return to;
}

Value filled(const Call &call, const program::Shape &shape, const Value &element) {
  const std::int64_t count = call.elems(shape);
  const std::int64_t size = size_bytes(element.type);
  call.make_elems(count, element.type);
  program::HostTensor tensor = program::make_host_tensor({}, element.type, shape);
  const bool is_zero = std::all_of(element.data->begin(), element.data->end(),
                                   [](std::byte b) { return b == std::byte{0}; });
  const std::size_t total = tensor.data.size();
  if (is_zero || total == 0)
    return make_constant(std::move(tensor));
  std::memcpy(tensor.data.data(), element.data->data(), static_cast<std::size_t>(size));
  for (std::size_t done = static_cast<std::size_t>(size); done < total; done *= 2)
    std::memcpy(tensor.data.data() + done, tensor.data.data(), std::min(done, total - done));
  return make_constant(std::move(tensor));
}

Value float_constant(const std::vector<double> &values, const program::Shape &shape) {
  program::HostTensor tensor = program::make_host_tensor({}, DType::F32, shape);
  for (std::size_t i = 0; i < values.size(); ++i)
    program::set(tensor, static_cast<std::int64_t>(i), values[i]);
  return make_constant(std::move(tensor));
}

} // namespace

void import_identity(Call &call) { call.result(call.value(0)); }

void import_dropout(Call &call) {
  const bool trains = call.has(2) && call.number(2, "training_mode") != 0;
  if (trains && (!call.has(1) || call.number(1, "ratio") != 0))
    call.fail(ErrorCode::Unsupported, "it is in training mode");
  const Value &input = call.value(0);
  call.result(input);
  if (!call.wants(1))
    return;
  const Value kept = filled(call, input.shape, integer_constant(DType::I32, {1}, {1}));
  const bool is_bool = call.opset() >= 10;
  call.result(
      call.apply(is_bool ? "cast_bool" : fmt::format("cast_{}", to_string(input.type)), {kept}), 1);
}

void import_reshape(Call &call) {
  const Value &input = call.value(0);
  const program::Shape shape = resolve_reshape(call, input.shape, call.list("shape", 1));
  if (call.elems(shape) != program::elems(input.shape))
    call.fail(ErrorCode::Shape,
              fmt::format("cannot reshape {} to {}", to_text(input.shape), to_text(shape)));
  call.result(call.reshape(input, shape));
}

void import_flatten(Call &call) {
  const Value &input = call.value(0);
  const std::size_t rank = input.shape.size(), axis = call.flattened_axis(rank);
  call.result(call.reshape(
      input, {elems_between(input.shape, 0, axis), elems_between(input.shape, axis, rank)}));
}

void import_squeeze(Call &call) {
  const Value &input = call.value(0);
  const Ints axes = call.list("axes", 1);
  const std::vector<bool> marked = marked_axes(call, axes, input.shape.size());
  program::Shape shape;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (marked[i] && input.shape[i] != 1)
      call.fail(ErrorCode::Shape,
                fmt::format("dimension {} of {} is not 1", i, to_text(input.shape)));
    if (axes.empty() ? input.shape[i] != 1 : !marked[i])
      shape.push_back(input.shape[i]);
  }
  call.result(call.reshape(input, shape));
}

void import_unsqueeze(Call &call) {
  const Value &input = call.value(0);
  const Ints axes = call.list("axes", 1);
  const std::vector<bool> marked = marked_axes(call, axes, input.shape.size() + axes.size());
  program::Shape shape;
  std::size_t next = 0;
  for (const bool is_new : marked)
    shape.push_back(is_new ? 1 : input.shape[next++]);
  call.result(call.reshape(input, shape));
}

void import_transpose(Call &call) {
  const Value &input = call.value(0);
  const Ints perm = permutation(call, input.shape.size());
  program::Shape shape;
  for (const std::int64_t axis : perm)
    shape.push_back(input.shape[at(axis)]);
  if (moves_nothing(perm, input.shape)) {
    call.result(call.reshape(input, shape));
    return;
  }
  check_rank(call, perm.size());
  call.result(call.apply(fmt::format("transpose{}", perm.size()), {input}, numbered("A", perm)));
}

void import_expand(Call &call) {
  const Value &input = call.value(0);
  const program::Shape shape = broadcast_shape(call, input.shape, call.bounded_ints(1, "shape"));
  if (call.elems(shape) == program::elems(input.shape)) {
    call.result(call.reshape(input, shape));
    return;
  }
  check_rank(call, shape.size());
  call.result(call.apply(fmt::format("expand{}", shape.size()), {input}, numbered("D", shape)));
}

void import_tile(Call &call) {
  Value result = call.value(0);
  const Ints repeats = call.bounded_ints(1, "repeats");
  const std::size_t rank = result.shape.size();
  if (repeats.size() != rank)
    call.fail(ErrorCode::Shape,
              fmt::format("it repeats {} axes of a tensor of rank {}", repeats.size(), rank));
  for (std::size_t i = 0; i < rank; ++i) {
    if (repeats[i] < 0)
      call.fail(ErrorCode::Shape,
                fmt::format("repeats is {}; need at least 0 each", to_text(repeats)));
    if (repeats[i] == 1)
      continue;
    program::Shape shape = result.shape;
    if (__builtin_mul_overflow(shape[i], repeats[i], &shape[i]))
      call.fail(ErrorCode::Limit, "its result is too large");
    const Value view = call.reshape(result, {elems_between(result.shape, 0, i), result.shape[i],
                                             elems_between(result.shape, i + 1, rank)});
    result = call.reshape(call.apply("tile_axis", {view}, {{"TIMES", repeats[i]}}), shape);
  }
  call.result(result);
}

void import_constant(Call &call) {
  if (call.has_attribute("value")) {
    call.result(call.constant_attribute("value"));
  } else if (call.has_attribute("value_float")) {
    call.result(float_constant({call.real("value_float", 0)}, {}));
  } else if (call.has_attribute("value_floats")) {
    const std::vector<double> values = call.reals("value_floats");
    call.result(float_constant(values, {static_cast<std::int64_t>(values.size())}));
  } else if (call.has_attribute("value_int")) {
    call.result(integer_constant(DType::I64, {}, {call.integer("value_int", 0)}));
  } else if (call.has_attribute("value_ints")) {
    const Ints values = call.integers_unbounded("value_ints");
    call.result(integer_constant(DType::I64, {static_cast<std::int64_t>(values.size())}, values));
  } else {
    call.fail(ErrorCode::Io, "it has no value");
  }
}

void import_constant_of_shape(Call &call) {
  const Ints shape = call.bounded_ints(0, "shape");
  for (const std::int64_t dim : shape)
    if (dim < 0)
      call.fail(ErrorCode::Shape, fmt::format("its shape is {}", to_text(shape)));
  const Value element =
      call.has_attribute("value") ? call.constant_attribute("value") : float_constant({0}, {1});
  if (program::elems(element.shape) != 1)
    call.fail(ErrorCode::Shape,
              fmt::format("its value has shape {}; need one element", to_text(element.shape)));
  call.result(filled(call, shape, element));
}

void import_shape(Call &call) {
  const program::Shape &shape = call.value(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto position = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = position(call.integer("start", 0));
  const std::int64_t end = std::max(begin, position(call.integer("end", rank)));
  call.result(integer_constant(DType::I64, {end - begin},
                               Ints(shape.begin() + begin, shape.begin() + end)));
}

void import_size(Call &call) {
  call.result(integer_constant(DType::I64, {}, {program::elems(call.value(0).shape)}));
}

void import_range(Call &call) {
  const double start = call.number(0, "start");
  const double limit = call.number(1, "limit");
  const double delta = call.number(2, "delta");
  const double count = delta == 0 ? -1 : std::max(0.0, std::ceil((limit - start) / delta));
  constexpr double kLargest = 1 << 24;
  if (!(count >= 0) || count > kLargest)
    call.fail(ErrorCode::Limit,
              fmt::format("a range from {} to {} by {} is not supported", start, limit, delta));
  call.make_elems(static_cast<std::int64_t>(count), call.value(0).type);
  program::HostTensor tensor =
      program::make_host_tensor({}, call.value(0).type, {static_cast<std::int64_t>(count)});
  for (std::int64_t i = 0; i < tensor.shape[0]; ++i)
    program::set(tensor, i, start + static_cast<double>(i) * delta);
  call.result(make_constant(std::move(tensor)));
}

void import_depth_to_space(Call &call) {
  const Value &input = call.value(0);
  const std::int64_t block = call.integer("blocksize", 0);
  if (block < 1 || input.shape.size() != 4 || input.shape[1] % (block * block) != 0)
    call.fail(ErrorCode::Shape,
              fmt::format("blocks of {} do not fit {}", block, to_text(input.shape)));
  const char *function =
      call.text("mode", "DCR") == "CRD" ? "depth_to_space_crd" : "depth_to_space_dcr";
  call.result(call.apply(function, {input}, {{"B", block}}));
}

void import_space_to_depth(Call &call) {
  const Value &input = call.value(0);
  const std::int64_t block = call.integer("blocksize", 0);
  if (block < 1 || input.shape.size() != 4 || input.shape[2] % block != 0 ||
      input.shape[3] % block != 0)
    call.fail(ErrorCode::Shape,
              fmt::format("blocks of {} do not fit {}", block, to_text(input.shape)));
  call.result(call.apply("space_to_depth", {input}, {{"B", block}}));
}

} // namespace tilefuse::onnx_import
