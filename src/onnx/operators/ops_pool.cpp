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

// How far apart neighbours along each axis are in a plane, of rows or of columns one after the
// other.
void bind_apart(tile::Attributes &attributes, const Window &window, bool by_column) {
  Window apart = window;
  std::int64_t step = 1;
  for (std::size_t i = 0; i < apart.size(); ++i) {
    WindowAxis &axis = apart[by_column ? i : apart.size() - 1 - i];
    axis.stride = step;
    step *= axis.in;
  }
  bind_axes(attributes, "B", apart, &WindowAxis::stride);
}

} // namespace

void import_max_pool(Call &call) {
  const Value &input = call.value(0);
  const Window window = pool_window(call);
  tile::Attributes attributes = pool_attributes(window);
  bind_axes(attributes, "P", window, &WindowAxis::begin);
  const Value result = call.apply(by_rank("max_pool", window.size()), {input}, attributes);
  call.result(result);
  if (!call.wants(1))
    return;
  for (const char axis : {'Z', 'Y', 'X'})
    attributes.erase(std::string("O") + axis);
  bind_apart(attributes, window, call.flag("storage_order", false));
  call.result(
      call.apply(by_rank("max_pool", window.size()) + "_index", {input, result}, attributes), 1);
}

void import_lp_pool(Call &call) {
  const Window window = pool_window(call);
  tile::Attributes attributes = pool_attributes(window);
  bind_axes(attributes, "P", window, &WindowAxis::begin);
  const tile::Attributes power{{"P", call.integer("p", 2)}};
  const Value powers = call.apply("lp_power", {call.value(0)}, power);
  const Value sums = call.apply(by_rank("sum_pool", window.size()), {powers}, attributes);
  call.result(call.apply("lp_root", {sums}, power));
}

void import_global_lp_pool(Call &call) {
  const Value &input = call.value(0);
  spatial_sizes(call, input);
  const tile::Attributes power{{"P", call.integer("p", 2)}};
  const Value powers = call.apply("lp_power", {input}, power);
  const Value rows = call.reshape(powers, {input.shape[0] * input.shape[1],
                                           elems_between(input.shape, 2, input.shape.size()), 1});
  program::Shape shape(input.shape.size(), 1);
  std::copy_n(input.shape.begin(), 2, shape.begin());
  call.result(
      call.reshape(call.apply("lp_root", {call.apply("reduce_sum", {rows})}, power), shape));
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
