// SPDX-License-Identifier: Apache-2.0
// Operators that read or write elements at given positions. Positions that are constant, in a
// constant, move bytes; a few constant ones are slices; others say where to read
// (ops/indexing.tile). What writes at computed positions compares them.
#include "onnx/operators/ops_index.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/index.h"
#include "onnx/constants.h"
#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"
#include "onnx/operators/ops_slice.h"
#include "onnx/operators/window.h"

namespace tilefuse::onnx_import {
namespace {

// Constant or computed indices of an axis of `size`, none of them negative.
Value resolved(const Call &call, const Value &indices, std::int64_t size) {
  const Value result = call.apply("wrap_index", {indices}, {{"A", size}});
  if (result.is_constant())
    for (const std::int64_t index : call.integers_of(result, "indices"))
      if (index < 0 || index >= size)
        call.fail(ErrorCode::Shape, fmt::format("index {} is outside {} elements", index, size));
  return result;
}

// Where an element of [outer, index, inner] finds its index: J is [E], [O, E] or [O, E, I].
std::int64_t place_in(const program::Shape &j, std::int64_t o, std::int64_t e, std::int64_t i) {
  const std::int64_t row = j.size() == 1 ? e : o * j[1] + e;
  return j.size() == 3 ? row * j[2] + i : row;
}

// The elements of constant data [O, A, I] at constant indices, as [O, E, I].
Value pick_bytes(const Call &call, const Value &data, const Value &indices) {
  const Ints at = call.integers_of(indices, "indices");
  const std::int64_t count = indices.shape[indices.shape.size() == 1 ? 0 : 1];
  const auto size = static_cast<std::size_t>(size_bytes(data.type));
  const program::Shape shape{data.shape[0], count, data.shape[2]};
  call.make_elems(call.elems(shape), data.type);
  program::HostTensor result = program::make_host_tensor(data.name, data.type, shape);
  std::byte *to = result.data.data();
  for (std::int64_t o = 0; o < shape[0]; ++o)
    for (std::int64_t e = 0; e < count; ++e)
      for (std::int64_t i = 0; i < shape[2]; ++i, to += size) {
        const std::int64_t a = at[tilefuse::at(place_in(indices.shape, o, e, i))];
        if (a < 0 || a >= data.shape[1])
          call.fail(ErrorCode::Shape,
                    fmt::format("index {} is outside {} elements", a, data.shape[1]));
        const std::int64_t from = (o * data.shape[1] + a) * data.shape[2] + i;
        std::memcpy(to, data.data->data() + static_cast<std::size_t>(from) * size, size);
      }
  return make_constant(std::move(result));
}

// The sum of what a contraction chooses; of bools, whose sum is no choice, in u8.
template <class Apply> Value chosen(const Call &call, const Value &data, const Apply &apply) {
  if (data.type != DType::Bool)
    return apply(data);
  return call.apply("cast_bool", {apply(call.apply("cast_u8", {data}))});
}

// Elements of data [O, A, I] at indices [E], [O, E] or [O, E, I], as [O, E, I].
Value pick(const Call &call, const Value &data, const Value &indices) {
  if (data.is_constant() && indices.is_constant())
    return pick_bytes(call, data, indices);
  static constexpr const char *kFunctions[] = {"pick", "pick_outer", "pick_each"};
  const std::size_t rank = indices.shape.size();
  return chosen(call, data, [&](const Value &from) {
    return call.apply(kFunctions[rank - 1], {from, indices});
  });
}

// Data with its dimensions before and after an axis cut to those of `like`.
Value cut_to(const Call &call, Value data, const program::Shape &like, std::size_t axis) {
  for (std::size_t d = 0; d < like.size(); ++d)
    if (d != axis && like[d] != data.shape[d])
      data = window_along(call, data, d, 0, like[d]);
  return data;
}

void check_same_rank(const Call &call, const Value &data, const Value &indices) {
  if (data.shape.size() != indices.shape.size() || data.shape.empty())
    call.fail(ErrorCode::Shape,
              fmt::format("its data has shape {} and its indices {}; need equal ranks",
                          to_text(data.shape), to_text(indices.shape)));
  call.elems(data.shape);
}

// Index tuples [E, Q] as positions in a tensor whose first Q dimensions are `dims`.
Value flat_indices(const Call &call, const Value &tuples, const program::Shape &dims) {
  const program::Shape strides = program::row_major(dims);
  const auto count = static_cast<std::int64_t>(dims.size());
  const auto list = [&](const program::Shape &values) {
    return integer_constant(tuples.type, {count}, Ints(values.begin(), values.end()));
  };
  return call.apply("flat_index", {tuples, list(dims), list(strides)});
}

// The dimensions of data that index tuples of operand 1 address, from `batch` on.
program::Shape addressed(const Call &call, const program::Shape &data, const program::Shape &tuples,
                         std::size_t batch) {
  const std::size_t count = tuples.empty() ? 0 : static_cast<std::size_t>(tuples.back());
  if (tuples.empty() || count == 0 || batch + count > data.size() || batch >= tuples.size())
    call.fail(ErrorCode::Shape,
              fmt::format("indices {} do not address {}", to_text(tuples), to_text(data)));
  const auto from = data.begin() + static_cast<std::ptrdiff_t>(batch);
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

bool adds(const Call &call) { return call.text("reduction", "none") == "add"; }

// A box of positions: where it begins in each dimension, and its sizes.
struct PositionBox {
  Ints first;
  program::Shape sizes;
};

// The box that index tuples [E, Q] run through row by row, or nothing when they are none.
std::optional<PositionBox> as_box(const Ints &tuples, const program::Shape &dims) {
  const std::size_t depth = dims.size(), count = tuples.size() / depth;
  PositionBox box;
  const auto wrapped = [&](std::size_t e, std::size_t d) {
    const std::int64_t index = tuples[e * depth + d];
    return index < 0 ? index + dims[d] : index;
  };
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < depth; ++d) {
    const std::int64_t first = wrapped(0, d), last = wrapped(count - 1, d);
    if (first < 0 || last >= dims[d] || last < first)
      return std::nullopt;
    box.first.push_back(first);
    box.sizes.push_back(last - first + 1);
    elements *= box.sizes.back();
  }
  if (elements != static_cast<std::int64_t>(count))
    return std::nullopt;
  for (std::size_t e = 0; e < count; ++e) {
    auto rest = static_cast<std::int64_t>(e);
    for (std::size_t d = depth; d-- > 0; rest /= box.sizes[d])
      if (wrapped(e, d) != box.first[d] + rest % box.sizes[d])
        return std::nullopt;
  }
  return box;
}

// Updates written over a box of data, or added to it.
Value put_box(const Call &call, const Value &data, const PositionBox &box, const Value &updates) {
  const std::size_t depth = box.first.size();
  const std::int64_t inner = elems_between(data.shape, depth, data.shape.size());
  program::Shape whole(data.shape.begin(), data.shape.begin() + static_cast<std::ptrdiff_t>(depth));
  program::Shape part = box.sizes;
  whole.push_back(inner);
  part.push_back(inner);
  const Value view = call.reshape(data, whole);
  Value written = call.reshape(updates, part);
  tile::Attributes offsets;
  for (std::size_t d = 0; d < depth; ++d)
    offsets[fmt::format("L{}", d)] = box.first[d];
  if (adds(call)) {
    Value old = view;
    for (std::size_t d = 0; d < depth; ++d)
      old = take_range(call, old, d, box.first[d], box.sizes[d]);
    written = call.apply("add", {old, written});
  }
  return call.reshape(call.apply(fmt::format("insert{}", depth + 1), {view, written}, offsets),
                      data.shape);
}

// Constant updates written over constant data at constant positions, in runs of elements.
Value put_bytes(const Call &call, const Value &data, const Ints &positions, const Value &updates,
                std::int64_t run) {
  const std::int64_t count = program::elems(data.shape);
  const auto bytes = static_cast<std::size_t>(size_bytes(data.type) * run);
  program::Bytes result = *data.data;
  for (std::size_t e = 0; e < positions.size(); ++e) {
    if (positions[e] < 0 || (positions[e] + 1) * run > count)
      call.fail(ErrorCode::Shape, "an index is outside its data");
    std::memcpy(result.data() + static_cast<std::size_t>(positions[e]) * bytes,
                updates.data->data() + e * bytes, bytes);
  }
  call.make_elems(count, data.type);
  return make_constant({data.name, data.type, data.shape, std::move(result)});
}

// Data where nothing was put, and else the sum of what was; or both added.
Value over(const Call &call, const Value &data, const Value &sums, const Value &counts) {
  return adds(call) ? call.apply("add", {data, sums})
                    : call.apply("put_over", {data, sums, counts});
}

} // namespace

Value pick_rows(const Call &call, const Value &matrix, const Value &indices) {
  const Value view = call.reshape(matrix, {1, matrix.shape[0], matrix.shape[1]});
  return call.reshape(pick(call, view, indices), {indices.shape[0], matrix.shape[1]});
}

void import_gather(Call &call) {
  const Value &data = call.value(0);
  const std::size_t axis = call.axis("axis", 0, data.shape.size());
  const Value &given = call.value(1);
  const auto at = data.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  program::Shape shape(data.shape.begin(), at);
  shape.insert(shape.end(), given.shape.begin(), given.shape.end());
  shape.insert(shape.end(), at + 1, data.shape.end());
  const std::int64_t count = program::elems(given.shape);
  const Value indices =
      count == 0 ? given : resolved(call, call.reshape(given, {count}), data.shape[axis]);
  constexpr std::int64_t kMostPieces = 256;
  if (indices.is_constant() && !data.is_constant() && count <= kMostPieces) {
    const Value taken = take_indices(call, data, axis, call.integers_of(indices, "indices"));
    call.result(call.reshape(taken, shape));
    return;
  }
  const Value flat = call.reshape(indices, {count});
  call.result(call.reshape(pick(call, along_axis(call, data, axis), flat), shape));
}

void import_gather_elements(Call &call) {
  const Value &data = call.value(0), &given = call.value(1);
  check_same_rank(call, data, given);
  const std::size_t axis = call.axis("axis", 0, data.shape.size());
  const Value part = cut_to(call, data, given.shape, axis);
  const Value indices = resolved(call, given, data.shape[axis]);
  call.result(call.reshape(
      pick(call, along_axis(call, part, axis), along_axis(call, indices, axis)), given.shape));
}

void import_gather_nd(Call &call) {
  const Value &data = call.value(0), &given = call.value(1);
  const auto batch = static_cast<std::size_t>(call.integer("batch_dims", 0));
  const program::Shape dims = addressed(call, data.shape, given.shape, batch);
  const auto depth = static_cast<std::int64_t>(dims.size());
  const std::int64_t outer = elems_between(data.shape, 0, batch);
  const std::size_t rest = batch + dims.size();
  const std::int64_t inner = elems_between(data.shape, rest, data.shape.size());
  const std::int64_t tuples = program::elems(given.shape) / depth;
  program::Shape shape(given.shape.begin(), given.shape.end() - 1);
  shape.insert(shape.end(), data.shape.begin() + static_cast<std::ptrdiff_t>(rest),
               data.shape.end());
  if (program::elems(shape) == 0) {
    call.result(zeros(call, data.type, shape));
    return;
  }
  const Value flat = flat_indices(call, call.reshape(given, {tuples, depth}), dims);
  const Value view = call.reshape(data, {outer, program::elems(dims), inner});
  call.result(call.reshape(pick(call, view, call.reshape(flat, {outer, tuples / outer})), shape));
}

void import_scatter_elements(Call &call) {
  const Value &data = call.value(0), &given = call.value(1), &updates = call.value(2);
  check_same_rank(call, data, given);
  if (updates.shape != given.shape)
    call.fail(ErrorCode::Shape, fmt::format("its updates have shape {} and its indices {}",
                                            to_text(updates.shape), to_text(given.shape)));
  const std::size_t axis = call.axis("axis", 0, data.shape.size());
  const Value indices = along_axis(call, resolved(call, given, data.shape[axis]), axis);
  const tile::Attributes size{{"A", data.shape[axis]}};
  check_comparisons(call, program::elems(given.shape), data.shape[axis]);
  const auto filled = [&](const Value &put) {
    program::Shape shape = given.shape;
    shape[axis] = data.shape[axis];
    return cut_to(call, call.reshape(put, shape), data.shape, axis);
  };
  const Value view = along_axis(call, updates, axis);
  const Value sums = chosen(call, view, [&](const Value &from) {
    return call.apply("put_each", {from, indices}, size);
  });
  call.result(
      over(call, data, filled(sums), filled(call.apply("put_each_count", {indices}, size))));
}

void import_scatter_nd(Call &call) {
  const Value &data = call.value(0), &given = call.value(1), &updates = call.value(2);
  const program::Shape dims = addressed(call, data.shape, given.shape, 0);
  const auto depth = static_cast<std::int64_t>(dims.size());
  const std::int64_t inner = elems_between(data.shape, dims.size(), data.shape.size());
  const std::int64_t tuples = program::elems(given.shape) / depth;
  if (tuples == 0) {
    call.result(data);
    return;
  }
  const Value rows = call.reshape(updates, {tuples, inner});
  const Value flat = flat_indices(call, call.reshape(given, {tuples, depth}), dims);
  if (data.is_constant() && updates.is_constant() && flat.is_constant() && !adds(call)) {
    call.result(put_bytes(call, data, call.integers_of(flat, "indices"), updates, inner));
    return;
  }
  constexpr std::size_t kDeepest = 4; // of insert5
  if (given.is_constant() && dims.size() <= kDeepest)
    if (const auto box = as_box(call.integers_of(given, "indices"), dims)) {
      call.result(put_box(call, data, *box, updates));
      return;
    }
  const std::int64_t positions = program::elems(dims);
  const tile::Attributes size{{"A", positions}};
  check_comparisons(call, tuples * inner, positions);
  const Value sums = chosen(call, rows, [&](const Value &from) {
    return call.apply("put", {from, flat}, size);
  });
  const Value counts = call.reshape(call.apply("put_count", {flat}, size), {positions, 1});
  const Value view = call.reshape(data, {positions, inner});
  call.result(call.reshape(over(call, view, sums, counts), data.shape));
}

namespace {

// The places of a constant's elements that are not 0, in order.
Ints places_set(const Value &constant) {
  Ints places;
  for (std::int64_t i = 0; i < program::elems(constant.shape); ++i)
    if (load_element(constant.data->data(), constant.type, i) != 0)
      places.push_back(i);
  return places;
}

} // namespace

void import_non_zero(Call &call) {
  const Value &input = call.constant(0, "input, which decides how many places there are,");
  const Ints places = places_set(input);
  const auto count = static_cast<std::int64_t>(places.size());
  const program::Shape shape = input.shape.empty() ? program::Shape{1} : input.shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  call.make_elems(count * rank, DType::I64);
  Ints columns(static_cast<std::size_t>(count * rank));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = places[tilefuse::at(i)];
    for (std::int64_t d = rank; d-- > 0; rest /= shape[tilefuse::at(d)])
      columns[tilefuse::at(d * count + i)] = rest % shape[tilefuse::at(d)];
  }
  call.result(integer_constant(DType::I64, {rank, count}, columns));
}

void import_compress(Call &call) {
  const Value &data = call.value(0);
  const Ints places = places_set(call.constant(1, "condition, which decides how many are kept,"));
  const bool has_axis = call.has_attribute("axis");
  const Value view = has_axis ? data : call.reshape(data, {program::elems(data.shape)});
  const std::size_t axis = has_axis ? call.axis("axis", 0, data.shape.size()) : 0;
  if (!places.empty() && places.back() >= view.shape[axis])
    call.fail(ErrorCode::Shape, fmt::format("element {} of an axis of {} is to be kept",
                                            places.back(), view.shape[axis]));
  call.result(take_indices(call, view, axis, places));
}

void import_max_unpool(Call &call) {
  const Value &input = call.value(0), &given = call.value(1);
  const Window window =
      transposed_window(call, spatial_sizes(call, input), call.integers("kernel_shape"));
  program::Shape shape{input.shape[0], input.shape[1]};
  std::int64_t area = 1;
  for (const WindowAxis &axis : window) {
    shape.push_back(axis.out);
    area *= axis.out;
  }
  const std::int64_t planes = shape[0] * shape[1];
  if (planes < 1)
    call.fail(ErrorCode::Unsupported, "its result is empty");
  const std::int64_t each = program::elems(input.shape) / planes;
  check_comparisons(call, planes * each, area);
  const Value places = call.apply("mod", {call.reshape(given, {planes, each, 1}),
                                          scalar_constant(static_cast<double>(area), given.type)});
  Value result = call.reshape(
      call.apply("put_each", {call.reshape(input, {planes, each, 1}), places}, {{"A", area}}),
      shape);
  if (call.has(2)) {
    const Ints wanted = call.bounded_ints(2, "output_shape");
    for (std::size_t d = 0; d < wanted.size() && wanted.size() == shape.size(); ++d)
      result = window_along(call, result, d, 0, wanted[d]);
  }
  call.result(result);
}

void import_one_hot(Call &call) {
  const Value &indices = call.value(0);
  const std::int64_t depth = call.whole(1, "depth");
  const std::size_t rank = indices.shape.size() + 1, axis = call.axis("axis", -1, rank);
  if (depth < 1)
    call.fail(ErrorCode::Shape, fmt::format("its depth is {}; need at least 1", depth));
  const Value view = call.reshape(indices, {elems_between(indices.shape, 0, axis), 1,
                                            elems_between(indices.shape, axis, rank - 1)});
  program::Shape shape = indices.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  call.result(call.reshape(call.apply("one_hot", {view, call.value(2)}, {{"D", depth}}), shape));
}

} // namespace tilefuse::onnx_import
