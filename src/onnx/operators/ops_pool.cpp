// SPDX-License-Identifier: Apache-2.0
// Pools.
#include <algorithm>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/window.h"

namespace tilefuse::onnx_import {
namespace {

Window pool_window(const Call &call) {
  const Ints kernel = call.integers("kernel_shape");
  if (kernel.empty())
    call.fail(ErrorCode::Io, "attribute kernel_shape is missing");
  return sliding_window(call, spatial_sizes(call, call.value(0)), kernel);
}

tile::Attributes pool_attributes(const Window &window) {
  tile::Attributes attributes;
  bind_axes(attributes, "K", window, &WindowAxis::kernel);
  bind_steps(attributes, window);
  return attributes;
}

// Every window lies inside the input.
bool is_full(const Window &window) {
  return std::all_of(window.begin(), window.end(), [](const WindowAxis &axis) {
    return axis.begin == 0 && (axis.out - 1) * axis.stride + axis.span() <= axis.in;
  });
}

} // namespace

void import_max_pool(Call &call) {
  const Window window = pool_window(call);
  tile::Attributes attributes = pool_attributes(window);
  bind_axes(attributes, "P", window, &WindowAxis::begin);
  call.result(call.apply(by_rank("max_pool", window.size()), {call.value(0)}, attributes));
}

void import_average_pool(Call &call) {
  const Window window = pool_window(call);
  const bool counts_pads = call.flag("count_include_pad", false);
  tile::Attributes attributes = pool_attributes(window);
  std::string function = by_rank("average_pool", window.size());
  if (is_full(window)) {
    function += "_full";
  } else {
    bind_axes(attributes, "P", window, &WindowAxis::begin);
    if (counts_pads) {
      bind_axes(attributes, "E", window, &WindowAxis::end);
      function += "_padded";
    }
  }
  call.result(call.apply(function, {call.value(0)}, attributes));
}

void import_global_pool(Call &call) {
  const std::size_t axes = spatial_sizes(call, call.value(0)).size();
  call.result(call.apply(by_rank(call.function(), axes), {call.value(0)}));
}

} // namespace tilefuse::onnx_import
