// SPDX-License-Identifier: Apache-2.0
#include "onnx/operators/window.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilefuse::onnx_import {
namespace {

// An attribute with one value of at least `least` per axis, or `otherwise` for each.
Ints per_axis(const Call &call, const std::string &name, std::size_t count, std::int64_t otherwise,
              std::int64_t least) {
  Ints values = call.integers(name);
  if (values.empty())
    values.assign(count, otherwise);
  if (values.size() != count)
    call.fail(ErrorCode::Shape,
              fmt::format("{} has {} values; need {}", name, values.size(), count));
  for (const std::int64_t value : values)
    if (value < least)
      call.fail(ErrorCode::Shape, fmt::format("{} holds {}; need at least {}", name, value, least));
  return values;
}

Window without_pads(const Call &call, const Ints &sizes, const Ints &kernel) {
  const std::size_t count = sizes.size();
  if (kernel.size() != count)
    call.fail(ErrorCode::Shape, fmt::format("its kernel has {} spatial dimensions, its input {}",
                                            kernel.size(), count));
  const Ints strides = per_axis(call, "strides", count, 1, 1);
  const Ints dilations = per_axis(call, "dilations", count, 1, 1);
  Window window(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (kernel[i] < 1 || sizes[i] < 1)
      call.fail(ErrorCode::Shape,
                fmt::format("a window of {} over {} elements is empty", kernel[i], sizes[i]));
    std::int64_t span = 0;
    if (__builtin_mul_overflow(dilations[i], kernel[i], &span) ||
        span > program::Shape::value_type{1} << 60)
      call.fail(ErrorCode::Limit, "its dilated kernel is too large");
    window[i] = {
        .in = sizes[i], .kernel = kernel[i], .stride = strides[i], .dilation = dilations[i]};
  }
  return window;
}

void set_pads(const Call &call, Window &window) {
  const Ints pads = per_axis(call, "pads", 2 * window.size(), 0, 0);
  for (std::size_t i = 0; i < window.size(); ++i) {
    window[i].begin = pads[i];
    window[i].end = pads[i + window.size()];
  }
}

// `total` elements of padding shared between both sides; the odd one goes to the end or to the
// beginning.
void share_pads(WindowAxis &axis, std::int64_t total, bool odd_at_end) {
  const std::int64_t half = total / 2;
  axis.begin = odd_at_end ? half : total - half;
  axis.end = total - axis.begin;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// A last window of ceil mode that would start beyond the input and its leading pad is dropped.
std::int64_t output_size(const WindowAxis &axis, bool ceil_mode) {
  const std::int64_t room = axis.in + axis.begin + axis.end - axis.span();
  if (room < 0)
    return 0;
  if (!ceil_mode)
    return room / axis.stride + 1;
  const std::int64_t count = ceil_div(room, axis.stride) + 1;
  return (count - 1) * axis.stride >= axis.in + axis.begin ? count - 1 : count;
}

void pad_to_same(WindowAxis &axis, bool odd_at_end) {
  axis.out = ceil_div(axis.in, axis.stride);
  const std::int64_t total = (axis.out - 1) * axis.stride + axis.span() - axis.in;
  share_pads(axis, std::max<std::int64_t>(total, 0), odd_at_end);
}

bool is_same(const Call &call, const std::string &auto_pad) {
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" &&
      auto_pad != "SAME_LOWER" && !auto_pad.empty())
    call.fail(ErrorCode::Unsupported,
              "auto_pad is none of NOTSET, VALID, SAME_UPPER and SAME_LOWER");
  return auto_pad.starts_with("SAME");
}

} // namespace

bool WindowAxis::reaches_input() const {
  for (std::int64_t tap = 0; tap < kernel; ++tap) {
    const std::int64_t first = dilation * tap - begin; // where the tap of result 0 lies
    const std::int64_t result = first >= 0 ? 0 : (-first + stride - 1) / stride;
    if (result < out && stride * result + first < in)
      return true;
  }
  return false;
}

Ints spatial_sizes(const Call &call, const Value &value) {
  if (value.shape.size() < 3 || value.shape.size() > 5)
    call.fail(value.shape.size() < 3 ? ErrorCode::Shape : ErrorCode::Unsupported,
              fmt::format("operand {} has shape {}; need [N, C, …] with 1 to 3 spatial dimensions",
                          0, to_text(value.shape)));
  for (const std::int64_t dim : value.shape)
    if (dim > std::int64_t{1} << 60)
      call.fail(ErrorCode::Limit, "a dimension of its input is too large");
  return {value.shape.begin() + 2, value.shape.end()};
}

Window sliding_window(const Call &call, const Ints &sizes, const Ints &kernel) {
  Window window = without_pads(call, sizes, kernel);
  const bool ceil_mode = call.flag("ceil_mode", false);
  const std::string auto_pad = call.text("auto_pad", "NOTSET");
  if (is_same(call, auto_pad)) {
    for (WindowAxis &axis : window)
      pad_to_same(axis, auto_pad == "SAME_UPPER");
    return window;
  }
  if (auto_pad != "VALID")
    set_pads(call, window);
  for (WindowAxis &axis : window) {
    axis.out = output_size(axis, ceil_mode);
    if (axis.out < 1)
      call.fail(ErrorCode::Shape,
                fmt::format("a window of {} does not fit into {} elements padded by {} and {}",
                            axis.span(), axis.in, axis.begin, axis.end));
  }
  return window;
}

Window transposed_window(const Call &call, const Ints &sizes, const Ints &kernel) {
  Window window = without_pads(call, sizes, kernel);
  const std::string auto_pad = call.text("auto_pad", "NOTSET");
  const bool same = is_same(call, auto_pad);
  const Ints extra = per_axis(call, "output_padding", window.size(), 0, 0);
  const Ints shape = call.integers("output_shape");
  if (!shape.empty() && shape.size() != window.size())
    call.fail(ErrorCode::Shape,
              fmt::format("output_shape has {} values; need {}", shape.size(), window.size()));
  if (!same && shape.empty() && auto_pad != "VALID")
    set_pads(call, window);
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowAxis &axis = window[i];
    std::int64_t full = 0;
    if (__builtin_mul_overflow(axis.stride, axis.in - 1, &full) ||
        __builtin_add_overflow(full, extra[i] + axis.span(), &full))
      call.fail(ErrorCode::Limit, "its result is too large");
    axis.out = !shape.empty() ? shape[i]
               : same         ? full - extra[i] - axis.span() + axis.stride
                              : full - axis.begin - axis.end;
    if (!shape.empty() || same)
      share_pads(axis, std::max<std::int64_t>(full - axis.out, 0), auto_pad == "SAME_UPPER");
    if (axis.out < 1)
      call.fail(ErrorCode::Shape, fmt::format("its output size is {}", axis.out));
  }
  return window;
}

void bind_axes(tile::Attributes &attributes, const std::string &prefix, const Window &window,
               std::int64_t WindowAxis::*member) {
  static constexpr char kLetters[] = {'Z', 'Y', 'X'};
  const std::size_t first = std::size(kLetters) - window.size();
  for (std::size_t i = 0; i < window.size(); ++i)
    attributes[prefix + kLetters[first + i]] = window[i].*member;
}

void bind_steps(tile::Attributes &attributes, const Window &window) {
  bind_axes(attributes, "S", window, &WindowAxis::stride);
  bind_axes(attributes, "D", window, &WindowAxis::dilation);
  bind_axes(attributes, "O", window, &WindowAxis::out);
}

std::string by_rank(const std::string &function, std::size_t axes) {
  return fmt::format("{}{}d", function, axes);
}

} // namespace tilefuse::onnx_import
