// SPDX-License-Identifier: Apache-2.0
// Operators that take parts of tensors or put them together. Up to rank 5 they act on the tensor as
// it is, so that channels keep their dimension; above, on [outer, axis, inner].
#include "onnx/operators/ops_slice.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::size_t kLargestRank = 5; // of slice1 …, pad1 …, insert1 …

std::string numbered(const char *name, std::size_t i) { return fmt::format("{}{}", name, i); }

SliceAxis resolve_slice(const Call &call, std::int64_t size, std::int64_t start, std::int64_t end,
                        std::int64_t step) {
  if (step == 0)
    call.fail(ErrorCode::Shape, "a step is 0");
  const auto wrap = [&](std::int64_t at) {
    return at < 0 ? std::max<std::int64_t>(at + size, -1) : at;
  };
  SliceAxis axis{.step = step};
  if (step > 0) {
    axis.start = std::clamp<std::int64_t>(wrap(start), 0, size);
    const std::int64_t stop = std::clamp<std::int64_t>(wrap(end), 0, size);
    axis.count = stop > axis.start ? (stop - axis.start - 1) / step + 1 : 0;
  } else {
    axis.start = std::clamp<std::int64_t>(wrap(start), -1, size - 1);
    const std::int64_t stop = std::clamp<std::int64_t>(wrap(end), -1, size - 1);
    axis.count = axis.start > stop ? (axis.start - stop - 1) / -step + 1 : 0;
  }
  return axis;
}

struct SliceLists {
  Ints starts, ends, axes, steps;
};

SliceLists slice_lists(const Call &call) {
  SliceLists lists;
  if (call.opset() < 10) {
    lists = {call.integers_unbounded("starts"),
             call.integers_unbounded("ends"),
             call.integers("axes"),
             {}};
  } else {
    lists = {call.ints(1, "starts"), call.ints(2, "ends"),
             call.has(3) ? call.bounded_ints(3, "axes") : Ints{},
             call.has(4) ? call.ints(4, "steps") : Ints{}};
  }
  const std::size_t count = lists.starts.size();
  if (lists.axes.empty()) {
    lists.axes.resize(count);
    std::iota(lists.axes.begin(), lists.axes.end(), 0);
  }
  if (lists.steps.empty())
    lists.steps.assign(count, 1);
  if (lists.ends.size() != count || lists.axes.size() != count || lists.steps.size() != count)
    call.fail(ErrorCode::Shape, "starts, ends, axes and steps differ in length");
  return lists;
}

bool takes_all(const SliceAxis &axis, std::int64_t size) {
  return axis.step == 1 && axis.count == size;
}

Value take_slices(const Call &call, const Value &value, const std::vector<SliceAxis> &axes) {
  tile::Attributes attributes;
  bool is_whole = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    attributes[numbered("B", i)] = axes[i].start;
    attributes[numbered("S", i)] = axes[i].step;
    attributes[numbered("N", i)] = axes[i].count;
    is_whole = is_whole && takes_all(axes[i], value.shape[i]);
  }
  if (is_whole)
    return value;
  if (axes.size() <= kLargestRank)
    return call.apply(numbered("slice", axes.size()), {value}, attributes);
  Value result = value;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (takes_all(axes[i], result.shape[i]))
      continue;
    program::Shape shape = result.shape;
    shape[i] = axes[i].count;
    const Value part =
        call.apply("slice", {call.reshape(result, three_dims(result.shape, i))},
                   {{"START", axes[i].start}, {"STEP", axes[i].step}, {"COUNT", axes[i].count}});
    result = call.reshape(part, shape);
  }
  return result;
}

std::vector<SliceAxis> whole(const program::Shape &shape) {
  std::vector<SliceAxis> axes;
  for (const std::int64_t size : shape)
    axes.push_back({.count = size});
  return axes;
}

void check_pieces(const Call &call, const std::vector<Value> &pieces, std::size_t axis) {
  std::int64_t total = 0;
  for (const Value &piece : pieces) {
    program::Shape shape = piece.shape;
    if (shape.size() == pieces.front().shape.size())
      shape[axis] = pieces.front().shape[axis];
    if (shape != pieces.front().shape || piece.type != pieces.front().type)
      call.fail(ErrorCode::Shape,
                fmt::format("cannot put {} of {} and {} of {} together along axis {}",
                            to_text(pieces.front().shape), to_string(pieces.front().type),
                            to_text(piece.shape), to_string(piece.type), axis));
    if (__builtin_add_overflow(total, piece.shape[axis], &total))
      call.fail(ErrorCode::Limit, "its result is too large");
  }
}

Ints split_sizes(const Call &call, std::int64_t size) {
  Ints sizes = call.list("split", 1);
  const std::int64_t parts = call.integer(
      "num_outputs", static_cast<std::int64_t>(std::max<std::size_t>(call.outputs(), 1)));
  if (parts < 1 || parts > static_cast<std::int64_t>(std::max<std::size_t>(call.outputs(), 1)))
    call.fail(ErrorCode::Shape,
              fmt::format("num_outputs is {}, but it has {} outputs", parts, call.outputs()));
  if (sizes.empty()) {
    const std::int64_t each = (size + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<std::int64_t>(size - i * each, 0, each));
  }
  std::int64_t total = 0;
  for (const std::int64_t part : sizes)
    total += part < 0 ? size + 1 : part;
  if (total != size || sizes.size() != call.outputs())
    call.fail(ErrorCode::Shape, fmt::format("cannot split {} elements into {} for {} outputs", size,
                                            to_text(sizes), call.outputs()));
  return sizes;
}

// Element `at` of an axis, or none when the distances between the indices differ.
std::optional<SliceAxis> as_slice(const Ints &indices) {
  if (indices.empty())
    return SliceAxis{.count = 0};
  SliceAxis axis{
      .start = indices.front(), .step = 1, .count = static_cast<std::int64_t>(indices.size())};
  if (indices.size() > 1)
    axis.step = indices[1] - indices[0];
  if (axis.step == 0)
    return std::nullopt;
  for (std::size_t i = 2; i < indices.size(); ++i)
    if (indices[i] - indices[i - 1] != axis.step)
      return std::nullopt;
  return axis;
}

} // namespace

std::vector<SliceAxis> slice_axes(const Call &call) {
  const program::Shape &shape = call.value(0).shape;
  const SliceLists lists = slice_lists(call);
  std::vector<SliceAxis> axes = whole(shape);
  for (std::size_t i = 0; i < lists.axes.size(); ++i) {
    const std::size_t axis = call.resolve_axis(lists.axes[i], shape.size());
    const std::int64_t step =
        std::clamp<std::int64_t>(lists.steps[i], -shape[axis] - 1, shape[axis] + 1);
    axes[axis] = resolve_slice(call, shape[axis], lists.starts[i], lists.ends[i], step);
  }
  return axes;
}

Value put_together(const Call &call, const std::vector<Value> &pieces, std::size_t axis) {
  program::Shape shape = pieces.front().shape;
  shape[axis] = 0;
  for (const Value &piece : pieces)
    shape[axis] += piece.shape[axis];
  call.elems(shape);
  const std::size_t rank = shape.size();
  const bool by_rank = rank <= kLargestRank;
  tile::Attributes sizes{{"SIZE", shape[axis]}};
  if (by_rank) {
    sizes.clear();
    for (std::size_t i = 0; i < rank; ++i)
      sizes[numbered("S", i)] = shape[i];
  }
  const auto view = [&](const Value &v) {
    return by_rank ? v : call.reshape(v, three_dims(v.shape, axis));
  };
  Value result =
      call.apply(by_rank ? numbered("pad", rank) : "insert_first", {view(pieces.front())}, sizes);
  std::int64_t offset = pieces.front().shape[axis];
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    result = call.apply(by_rank ? numbered("insert", rank) : "insert", {result, view(pieces[i])},
                        {{by_rank ? numbered("L", axis) : "OFFSET", offset}});
    offset += pieces[i].shape[axis];
  }
  return call.reshape(result, shape);
}

Value take_range(const Call &call, const Value &data, std::size_t axis, std::int64_t start,
                 std::int64_t count) {
  if (axis >= data.shape.size() || start + count > data.shape[axis])
    call.fail(ErrorCode::Shape, fmt::format("{} has no elements {} to {} of axis {}",
                                            to_text(data.shape), start, start + count - 1, axis));
  std::vector<SliceAxis> axes = whole(data.shape);
  axes[axis] = {.start = start, .count = count};
  return take_slices(call, data, axes);
}

Value take_indices(const Call &call, const Value &data, std::size_t axis, const Ints &indices) {
  const auto part = [&](const SliceAxis &slice) {
    std::vector<SliceAxis> axes = whole(data.shape);
    axes[axis] = slice;
    return take_slices(call, data, axes);
  };
  if (const auto slice = as_slice(indices))
    return part(*slice);
  std::vector<Value> pieces;
  for (const std::int64_t index : indices)
    pieces.push_back(part({.start = index, .count = 1}));
  return put_together(call, pieces, axis);
}

void import_concat(Call &call) {
  const std::vector<Value> pieces = call.values();
  if (pieces.empty())
    call.fail(ErrorCode::Io, "it has no operands");
  const std::size_t axis = call.axis("axis", 1, pieces.front().shape.size());
  check_pieces(call, pieces, axis);
  std::vector<Value> filled;
  for (const Value &piece : pieces)
    if (piece.shape[axis] > 0)
      filled.push_back(piece);
  call.result(filled.empty()       ? pieces.front()
              : filled.size() == 1 ? filled.front()
                                   : put_together(call, filled, axis));
}

void import_slice(Call &call) { call.result(take_slices(call, call.value(0), slice_axes(call))); }

void import_split(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.axis("axis", 0, input.shape.size());
  std::vector<SliceAxis> axes = whole(input.shape);
  const Ints sizes = split_sizes(call, input.shape[axis]);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    axes[axis].count = sizes[i];
    call.result(take_slices(call, input, axes), i);
    axes[axis].start += sizes[i];
  }
}

} // namespace tilefuse::onnx_import
