// SPDX-License-Identifier: Apache-2.0
// Pad: constant pads act on all axes of a tensor at once; the modes reflect, edge and wrap on one side of
// one axis at a time.
#include <numeric>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::size_t kLargestRank = 5; // of pad1 …

std::string numbered(const std::string &name, std::size_t i) {
  return fmt::format("{}{}", name, i);
}

struct PadAxis {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<PadAxis> pad_axes(const Call &call, std::size_t rank) {
  const Ints pads = call.list(call.has_attribute("paddings") ? "paddings" : "pads", 1);
  Ints axes = call.has(3) ? call.bounded_ints(3, "axes") : Ints{};
  if (!call.has(3)) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads.size() != 2 * axes.size())
    call.fail(ErrorCode::Shape,
              fmt::format("it has {} pads for {} axes", pads.size(), axes.size()));
  std::vector<PadAxis> result(rank);
  for (std::size_t i = 0; i < axes.size(); ++i)
    result[call.resolve_axis(axes[i], rank)] = {pads[i], pads[i + axes.size()]};
  return result;
}

program::Shape padded_shape(const Call &call, const program::Shape &from,
                            const std::vector<PadAxis> &pads) {
  program::Shape shape = from;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (__builtin_add_overflow(shape[i], pads[i].begin + pads[i].end, &shape[i]))
      call.fail(ErrorCode::Limit, "its result is too large");
    if (shape[i] < 1)
      call.fail(ErrorCode::Shape, fmt::format("axis {} of {} has nothing left", i, to_text(from)));
  }
  return shape;
}

Value pad_constant(const Call &call, const Value &input, const std::vector<PadAxis> &pads,
                   double number) {
  const program::Shape shape = padded_shape(call, input.shape, pads);
  if (shape.size() > kLargestRank)
    call.fail(ErrorCode::Unsupported,
              fmt::format("its rank is {}; at most {} is supported", shape.size(), kLargestRank));
  tile::Attributes attributes;
  bool is_whole = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    attributes[numbered("L", i)] = pads[i].begin;
    attributes[numbered("S", i)] = shape[i];
    is_whole = is_whole && pads[i].begin == 0 && pads[i].end == 0;
  }
  if (is_whole)
    return input;
  if (number == 0)
    return call.apply(numbered("pad", shape.size()), {input}, attributes);
  attributes["VALUE"] = number;
  return call.apply(numbered("pad", shape.size()) + "_value", {input}, attributes);
}

// Modes reflect, edge and wrap: one side of one axis after the other.
Value pad_side(const Call &call, const Value &value, std::size_t axis, std::int64_t count,
               const std::string &side, std::int64_t before = 0) {
  if (count == 0)
    return value;
  const std::string mode = call.text("mode", "");
  const std::int64_t size = value.shape[axis] - before;
  if (count < 0 || (mode == "reflect" && count >= value.shape[axis]) ||
      (mode == "wrap" && count > size))
    call.fail(ErrorCode::Unsupported,
              fmt::format("padding {} elements by {} in mode {} is not supported",
                          value.shape[axis], count, mode));
  tile::Attributes attributes{{"COUNT", count}};
  if (before > 0)
    attributes["BEGIN"] = before;
  return apply_along(call, "pad_" + mode + "_" + side, value, axis, attributes);
}

double pad_number(const Call &call) {
  return call.has_attribute("value") || !call.has(2) ? call.real("value", 0)
                                                     : call.number(2, "constant_value");
}

} // namespace

void import_pad(Call &call) {
  const Value &input = call.value(0);
  const std::vector<PadAxis> pads = pad_axes(call, input.shape.size());
  if (call.text("mode", "constant") == "constant") {
    call.result(pad_constant(call, input, pads, pad_number(call)));
    return;
  }
  padded_shape(call, input.shape, pads);
  Value result = input;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    result = pad_side(call, result, i, pads[i].begin, "front");
    const bool wraps = call.text("mode", "") == "wrap";
    result = pad_side(call, result, i, pads[i].end, "back", wraps ? pads[i].begin : 0);
  }
  call.result(result);
}

void import_center_crop_pad(Call &call) {
  Value result = call.value(0);
  const Ints sizes = call.bounded_ints(1, "shape");
  Ints axes = call.integers("axes");
  if (!call.has_attribute("axes")) {
    axes.resize(result.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (axes.size() != sizes.size())
    call.fail(ErrorCode::Shape,
              fmt::format("it has {} sizes for {} axes", sizes.size(), axes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = call.resolve_axis(axes[i], result.shape.size());
    if (sizes[i] < 1)
      call.fail(ErrorCode::Shape, fmt::format("its shape is {}", to_text(sizes)));
    result = window_along(call, result, axis, (result.shape[axis] - sizes[i]) / 2, sizes[i]);
  }
  call.result(result);
}

} // namespace tilefuse::onnx_import
