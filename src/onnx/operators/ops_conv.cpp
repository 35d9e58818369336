// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products.
#include "onnx/operators/ops_conv.h"

#include <algorithm>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/window.h"

namespace tilefuse::onnx_import {
namespace {

tile::Attributes conv_attributes(const Window &window) {
  tile::Attributes attributes;
  bind_steps(attributes, window);
  bind_axes(attributes, "P", window, &WindowAxis::begin);
  return attributes;
}

Ints kernel_of(const Call &call, const Value &filter) {
  const Ints kernel(filter.shape.begin() + 2, filter.shape.end());
  const Ints declared = call.integers("kernel_shape");
  if (!declared.empty() && declared != kernel)
    call.fail(ErrorCode::Shape, fmt::format("kernel_shape is {}, but the filter has {}",
                                            to_text(declared), to_text(kernel)));
  return kernel;
}

// X [N, C, …] and a filter of the same rank.
void check_operands(const Call &call, const Value &input, const Value &filter) {
  spatial_sizes(call, input);
  if (filter.shape.size() != input.shape.size())
    call.fail(ErrorCode::Shape,
              fmt::format("its input has shape {} and its filter {}; need equal ranks",
                          to_text(input.shape), to_text(filter.shape)));
}

void check_groups(const Call &call, const Value &input, const Value &filter, std::int64_t groups) {
  const std::int64_t in = input.shape[1];
  const std::int64_t out = filter.shape[0];
  const std::int64_t each = filter.shape[1];
  if (groups < 1 || in % groups != 0 || out % groups != 0 || each != in / groups)
    call.fail(ErrorCode::Shape,
              fmt::format("{} input channels in {} groups and a filter {} do not match", in, groups,
                          to_text(filter.shape)));
}

bool is_depthwise(const Value &input, const Value &filter, std::int64_t groups) {
  return groups > 1 && groups == input.shape[1] && filter.shape[0] == groups;
}

// The result of a convolution all of whose taps lie on padding.
Value all_zeros(const Call &call, const Value &input, const Value &filter, const Window &window) {
  program::Shape shape = {input.shape[0], filter.shape[0]};
  for (const WindowAxis &axis : window)
    shape.push_back(axis.out);
  call.make_elems(call.elems(shape), input.type);
  return make_constant(program::make_host_tensor({}, input.type, shape));
}

// Leading dimensions of a matrix operand: all but the last two.
program::Shape batch_of(const Value &value) { return {value.shape.begin(), value.shape.end() - 2}; }

program::Shape broadcast(const Call &call, program::Shape a, program::Shape b) {
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t i = 0; i < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      call.fail(ErrorCode::Shape, fmt::format("leading dimensions {} and {} do not broadcast",
                                              to_text(a), to_text(b)));
    if (a[i] == 1)
      a[i] = b[i];
  }
  return a;
}

// [batch…, R, C] -> [P, R, C] with P the product of `batch`, repeated where needed.
Value to_batch(const Call &call, const Value &value, const program::Shape &batch) {
  program::Shape full = batch;
  full.insert(full.end(), value.shape.end() - 2, value.shape.end());
  Value expanded = value;
  if (call.elems(full) != program::elems(value.shape)) {
    tile::Attributes sizes;
    for (std::size_t i = 0; i < full.size(); ++i)
      sizes[fmt::format("D{}", i)] = full[i];
    expanded = call.apply(fmt::format("expand{}", full.size()), {value}, sizes);
  }
  return call.reshape(expanded, {program::elems(batch), full[full.size() - 2], full.back()});
}

// The product of operands of rank >= 2, as [batch…, M, N].
Value multiply_matrices(const Call &call, const Value &a, const Value &b) {
  const program::Shape batch = broadcast(call, batch_of(a), batch_of(b));
  const std::int64_t rows = a.shape[a.shape.size() - 2];
  const std::int64_t inner = a.shape.back();
  const std::int64_t columns = b.shape.back();
  if (inner != b.shape[b.shape.size() - 2])
    call.fail(ErrorCode::Shape,
              fmt::format("cannot multiply {} by {}: {} columns, {} rows", to_text(a.shape),
                          to_text(b.shape), inner, b.shape[b.shape.size() - 2]));
  const std::int64_t count_a = program::elems(batch_of(a));
  const std::int64_t count_b = program::elems(batch_of(b));
  program::Shape full = batch;
  full.insert(full.end(), {rows, columns});
  const auto flat = [&](const Value &v) {
    return call.reshape(v, {elems_between(v.shape, 0, v.shape.size() - 1), v.shape.back()});
  };
  if (count_b == 1)
    return call.reshape(call.apply("matmul_22", {flat(a), call.reshape(b, {inner, columns})}),
                        full);
  if (count_a == 1)
    return call.reshape(
        call.apply("matmul_23", {call.reshape(a, {rows, inner}), to_batch(call, b, batch)}), full);
  return call.reshape(call.apply("matmul_33", {to_batch(call, a, batch), to_batch(call, b, batch)}),
                      full);
}

} // namespace

Value add_bias(const Call &call, const Value &result, const Value &bias) {
  return call.apply(by_rank("add_channel", result.shape.size() - 2), {result, bias});
}

Value convolve(const Call &call, const Value &input, const Value &filter) {
  check_operands(call, input, filter);
  const std::int64_t groups = call.integer("group", 1);
  check_groups(call, input, filter, groups);
  const Window window = sliding_window(call, spatial_sizes(call, input), kernel_of(call, filter));
  if (!std::all_of(window.begin(), window.end(),
                   [](const WindowAxis &axis) { return axis.reaches_input(); }))
    return all_zeros(call, input, filter, window);
  tile::Attributes attributes = conv_attributes(window);
  std::string function = "conv";
  if (is_depthwise(input, filter, groups)) {
    function = "depthwise_conv";
  } else if (groups > 1) {
    function = "group_conv";
    attributes["G"] = groups;
  }
  return call.apply(by_rank(function, window.size()), {input, filter}, attributes);
}

Value multiply(const Call &call, Value a, Value b) {
  if (a.shape.empty() || b.shape.empty())
    call.fail(ErrorCode::Shape, "an operand is a scalar; need rank 1 or more");
  const bool is_row = a.shape.size() == 1;
  const bool is_column = b.shape.size() == 1;
  if (is_row)
    a = call.reshape(a, {1, a.shape[0]});
  if (is_column)
    b = call.reshape(b, {b.shape[0], 1});
  const Value product = multiply_matrices(call, a, b);
  program::Shape shape(product.shape.begin(), product.shape.end() - 2);
  if (!is_row)
    shape.push_back(product.shape[product.shape.size() - 2]);
  if (!is_column)
    shape.push_back(product.shape.back());
  return call.reshape(product, shape);
}

void import_conv(Call &call) {
  const Value result = convolve(call, call.value(0), call.value(1));
  call.result(call.has(2) ? add_bias(call, result, call.value(2)) : result);
}

void import_conv_transpose(Call &call) {
  const Value &input = call.value(0);
  const Value &filter = call.value(1);
  check_operands(call, input, filter);
  const std::int64_t groups = call.integer("group", 1);
  if (groups < 1 || input.shape[1] % groups != 0 || filter.shape[0] != input.shape[1])
    call.fail(ErrorCode::Shape,
              fmt::format("{} input channels in {} groups and a filter {} do not match",
                          input.shape[1], groups, to_text(filter.shape)));
  const Window window =
      transposed_window(call, spatial_sizes(call, input), kernel_of(call, filter));
  tile::Attributes attributes = conv_attributes(window);
  if (groups > 1)
    attributes["G"] = groups;
  const Value result =
      call.apply(by_rank(groups > 1 ? "group_conv_transpose" : "conv_transpose", window.size()),
                 {input, filter}, attributes);
  call.result(call.has(2) ? add_bias(call, result, call.value(2)) : result);
}

void import_col2im(Call &call) {
  const Value &input = call.value(0);
  const Ints picture = call.bounded_ints(1, "image_shape");
  const Ints block = call.bounded_ints(2, "block_shape");
  if (picture.size() < 2 || picture.size() > 3 || input.shape.size() != 3)
    call.fail(ErrorCode::Unsupported, fmt::format("columns {} of a picture {} are not supported",
                                                  to_text(input.shape), to_text(picture)));
  Window window = sliding_window(call, picture, block);
  tile::Attributes attributes;
  bind_axes(attributes, "V", window, &WindowAxis::out);
  for (WindowAxis &axis : window)
    axis.out = axis.in;
  for (const auto &[name, value] : conv_attributes(window))
    attributes[name] = value;
  static constexpr const char *kLetters[] = {"Q", "R", "S"};
  for (std::size_t i = 0; i < window.size(); ++i)
    attributes[kLetters[3 - window.size() + i]] = window[i].kernel;
  const std::int64_t taps = program::elems(block);
  const Value columns =
      call.reshape(input, {input.shape[0], input.shape[1] / taps, taps, input.shape[2]});
  call.result(call.apply(window.size() == 2 ? "col2im" : "col2im3d", {columns}, attributes));
}

void import_gemm(Call &call) {
  const std::string function = fmt::format("gemm_{}{}", call.flag("transA", false) ? 't' : 'n',
                                           call.flag("transB", false) ? 't' : 'n');
  const double alpha = call.real("alpha", 1);
  const double beta = call.real("beta", 1);
  const Value product = call.apply(function, {call.value(0), call.value(1)});
  if (!call.has(2) || beta == 0) {
    call.result(alpha == 1 ? product : call.apply("gemm_scale", {product}, {{"ALPHA", alpha}}));
    return;
  }
  const Value result = alpha == 1 && beta == 1 ? call.apply("add", {product, call.value(2)})
                                               : call.apply("gemm_bias", {product, call.value(2)},
                                                            {{"ALPHA", alpha}, {"BETA", beta}});
  if (result.shape != product.shape)
    call.fail(ErrorCode::Shape,
              fmt::format("operand C has shape {}, which does not broadcast to {}",
                          to_text(call.value(2).shape), to_text(product.shape)));
  call.result(result);
}

void import_matmul(Call &call) { call.result(multiply(call, call.value(0), call.value(1))); }

} // namespace tilefuse::onnx_import
