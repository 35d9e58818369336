// SPDX-License-Identifier: Apache-2.0
// Linear quantisation and products of quantised tensors.
#include <algorithm>

#include <fmt/format.h>

#include "onnx/constants.h"
#include "onnx/operators.h"
#include "onnx/operators/ops_conv.h"
#include "onnx/tensor.h"
#include "target/dtype_traits.h"

namespace tilefuse::onnx_import {
namespace {

// A scale or a zero point of one element, or one per element of dimension `axis` of a tensor of
// that rank, as a tensor that broadcasts to it.
Value along(const Call &call, const Value &value, std::size_t axis, std::size_t rank) {
  if (program::elems(value.shape) == 1)
    return call.reshape(value, {});
  if (value.shape.size() != 1)
    call.fail(ErrorCode::Unsupported,
              fmt::format("scales or zero points of shape {} are not supported; need one, or one "
                          "per element of a dimension",
                          to_text(value.shape)));
  if (axis >= rank)
    call.fail(ErrorCode::Shape, fmt::format("a tensor of rank {} has no dimension for {} scales or "
                                            "zero points",
                                            rank, value.shape[0]));
  program::Shape shape(rank - axis, 1);
  shape[0] = value.shape[0];
  return call.reshape(value, shape);
}

Value zero(DType type) { return integer_constant(type, {}, {0}); }

// Operand `i`, or 0 in the type of the tensor that it belongs to.
Value zero_point(const Call &call, std::size_t i, DType type) {
  return call.has(i) ? call.value(i) : zero(type);
}

// "quantize" -> "quantize_u8".
std::string to_bits(const Call &call, const char *function, DType type) {
  if (!is_byte(type))
    call.fail(ErrorCode::Unsupported,
              fmt::format("quantisation to {} is not supported", to_string(type)));
  return fmt::format("{}_{}", function, to_string(type));
}

// The axis of scales and zero points; not looked at for a single one.
std::size_t axis_of(const Call &call, const Value &scale, std::size_t rank) {
  return program::elems(scale.shape) == 1 ? 0 : call.axis("axis", 1, rank);
}

// Tensor, scales and zero points of a node, which broadcast. With a block size these are one for so
// many neighbours along the axis, and blocks become a dimension of the tensor.
std::vector<Value> in_blocks(const Call &call, DType type) {
  const Value &input = call.value(0), &scale = call.value(1);
  const Value zero = zero_point(call, 2, type);
  const std::size_t rank = input.shape.size();
  const std::int64_t block = call.integer("block_size", 0);
  if (block == 0) {
    const std::size_t axis = axis_of(call, scale, rank);
    return {input, along(call, scale, axis, rank), along(call, zero, axis, rank)};
  }
  const std::size_t axis = call.axis("axis", 1, rank);
  program::Shape whole = input.shape, one = input.shape;
  one[axis] = block > 0 ? input.shape[axis] / block : 0;
  if (one != scale.shape || one[axis] * block != input.shape[axis])
    call.fail(
        ErrorCode::Unsupported,
        fmt::format("scales of shape {} for blocks of {} are not supported; need whole blocks "
                    "along dimension {} of {}",
                    to_text(scale.shape), block, axis, to_text(input.shape)));
  whole[axis] = one[axis];
  const auto behind = static_cast<std::ptrdiff_t>(axis) + 1;
  whole.insert(whole.begin() + behind, block);
  one.insert(one.begin() + behind, 1);
  const bool is_single = program::elems(zero.shape) == 1;
  return {call.reshape(input, whole), call.reshape(scale, one),
          call.reshape(zero, is_single ? program::Shape{} : one)};
}

// What the products of a node sum: operands `at` and its zero point, without it.
Value integers(const Call &call, const Value &value, const Value &zero, std::size_t axis) {
  return call.apply("without_zero", {value, along(call, zero, axis, value.shape.size())});
}

// Of a matrix operand: its zero point or scale, where there are several, is one per row of A or per
// column of B.
std::size_t row_axis(const Value &value) {
  return std::max<std::size_t>(value.shape.size(), 2) - 2;
}
std::size_t column_axis(const Value &value) {
  return std::max<std::size_t>(value.shape.size(), 1) - 1;
}

} // namespace

void import_quantize(Call &call) {
  const auto declared = to_dtype(static_cast<int>(call.integer("output_dtype", 0)));
  const DType type = call.has(2) ? call.value(2).type : declared.value_or(DType::U8);
  const std::string function = is_narrow(type) ? fmt::format("quantize_{}", to_string(type))
                                               : to_bits(call, "quantize", type);
  call.result(call.reshape(call.apply(function, in_blocks(call, type)), call.value(0).shape));
}

void import_dequantize(Call &call) {
  const Value &input = call.value(0);
  const std::vector<Value> args = in_blocks(call, input.type);
  // Weights stay integers for products of integers (program/precision/integer_products.h).
  const bool is_weights = input.is_constant() && is_narrow(input.type) && input.shape.size() > 1;
  const Value result =
      is_weights ? call.compute("dequantize", args) : call.apply("dequantize", args);
  call.result(call.reshape(result, input.shape));
}

void import_dynamic_quantize(Call &call) {
  const Value &input = call.value(0);
  const Value row = call.reshape(input, {1, program::elems(input.shape), 1});
  const auto extreme = [&](const char *function) {
    return call.reshape(call.apply(function, {row}), {});
  };
  const Value low = extreme("reduce_min");
  const Value scale = call.apply("dynamic_scale", {low, extreme("reduce_max")});
  const Value zero = call.apply("dynamic_zero", {low, scale});
  call.result(call.apply("dynamic_quantize", {input, scale, zero}));
  call.result(scale, 1);
  call.result(zero, 2);
}

void import_conv_integer(Call &call) {
  const Value &input = call.value(0), &filter = call.value(1);
  call.result(convolve(call, integers(call, input, zero_point(call, 2, input.type), 1),
                       integers(call, filter, zero_point(call, 3, filter.type), 0)));
}

void import_qlinear_conv(Call &call) {
  Value sums = convolve(call, integers(call, call.value(0), call.value(2), 1),
                        integers(call, call.value(3), call.value(5), 0));
  if (call.has(8))
    sums = add_bias(call, sums, call.value(8));
  const std::size_t rank = sums.shape.size();
  call.result(
      call.apply(to_bits(call, "requantize", call.value(7).type),
                 {sums, along(call, call.value(1), 1, rank), along(call, call.value(4), 1, rank),
                  along(call, call.value(6), 1, rank), along(call, call.value(7), 1, rank)}));
}

void import_matmul_integer(Call &call) {
  const Value &a = call.value(0), &b = call.value(1);
  call.result(multiply(call, integers(call, a, zero_point(call, 2, a.type), row_axis(a)),
                       integers(call, b, zero_point(call, 3, b.type), column_axis(b))));
}

void import_qlinear_matmul(Call &call) {
  const Value &a = call.value(0), &b = call.value(3);
  const Value sums = multiply(call, integers(call, a, call.value(2), row_axis(a)),
                              integers(call, b, call.value(5), column_axis(b)));
  const std::size_t rank = std::max<std::size_t>(sums.shape.size(), 1);
  call.result(call.apply(to_bits(call, "requantize", call.value(7).type),
                         {sums, along(call, call.value(1), row_axis(sums), rank),
                          along(call, call.value(4), rank - 1, rank),
                          along(call, call.value(6), rank - 1, rank),
                          along(call, call.value(7), rank - 1, rank)}));
}

} // namespace tilefuse::onnx_import
