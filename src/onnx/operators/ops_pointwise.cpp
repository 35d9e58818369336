// SPDX-License-Identifier: Apache-2.0
// Elementwise operators and casts.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

// Before opset 7, `broadcast` aligns operand B with A from dimension `axis` on (from the end when
// there is none).
Value old_broadcast(const Call &call, const Value &a, const Value &b) {
  if (call.opset() >= 7 || !call.flag("broadcast", false) || !call.has_attribute("axis"))
    return b;
  const std::size_t axis = call.axis("axis", 0, a.shape.size());
  if (axis + b.shape.size() > a.shape.size())
    call.fail(ErrorCode::Shape, fmt::format("operand {} from axis {} on exceeds {}",
                                            to_text(b.shape), axis, to_text(a.shape)));
  program::Shape shape = b.shape;
  shape.insert(shape.end(), a.shape.size() - axis - b.shape.size(), 1);
  return call.reshape(b, shape);
}

Value accumulate(const Call &call, const std::string &function) {
  Value total = call.value(0);
  for (std::size_t i = 1; i < call.inputs(); ++i)
    total = call.apply(function, {total, call.value(i)});
  return total;
}

Value cast_to(const Call &call, const Value &value, DType type) {
  if (value.type == type)
    return value;
  return call.apply(fmt::format("cast_{}", to_string(type)), {value});
}

// A bound of Clip: absent, a constant number, or computed at run time.
bool is_number(const Call &call, std::size_t i) {
  return !call.has(i) || call.value(i).is_constant();
}

Value clip_by_tensors(const Call &call) {
  Value result = call.value(0);
  if (call.has(1) && call.has(2))
    return call.apply("clip_tensor", {result, call.value(1), call.value(2)});
  if (call.has(1))
    result = call.apply("max", {result, call.value(1)});
  if (call.has(2))
    result = call.apply("min", {result, call.value(2)});
  return result;
}

Value clip_by_numbers(const Call &call, std::optional<double> low, std::optional<double> high) {
  if (low && high)
    return call.apply("clip", {call.value(0)}, {{"LO", *low}, {"HI", *high}});
  if (low)
    return call.apply("clip_low", {call.value(0)}, {{"LO", *low}});
  if (high)
    return call.apply("clip_high", {call.value(0)}, {{"HI", *high}});
  return call.value(0);
}

} // namespace

void import_unary(Call &call) {
  static constexpr std::pair<const char *, const char *> kNumbers[] = {{"alpha", "ALPHA"},
                                                                       {"beta", "BETA"},
                                                                       {"gamma", "GAMMA"},
                                                                       {"lambd", "LAMBDA"},
                                                                       {"bias", "BIAS"}};
  tile::Attributes attributes;
  for (const auto &[theirs, ours] : kNumbers)
    if (call.has_attribute(theirs))
      attributes[ours] = call.real(theirs, 0);
  call.result(call.apply(call.function(), {call.value(0)}, attributes));
}

void import_binary(Call &call) {
  const Value &a = call.value(0);
  call.result(call.apply(call.function(), {a, old_broadcast(call, a, call.value(1))}));
}

namespace {

// A whole exponent that all elements share, where it is known and small.
std::optional<int> whole_exponent(const Call &call) {
  constexpr double kMost = 64;
  if (call.inputs() != 2 || !is_number(call, 1) || program::elems(call.value(1).shape) != 1 ||
      call.value(1).shape.size() > call.value(0).shape.size())
    return std::nullopt;
  const double exponent = call.number(1, "exponent");
  const bool is_whole = exponent >= 1 && exponent <= kMost && exponent == std::floor(exponent);
  return is_whole ? std::optional(static_cast<int>(exponent)) : std::nullopt;
}

Value product_of_powers(const Call &call, const Value &base, int exponent) {
  if (exponent == 1)
    return base;
  const Value half = product_of_powers(call, base, exponent / 2);
  const Value even = call.apply("mul", {half, half});
  return exponent % 2 == 0 ? even : call.apply("mul", {even, base});
}

} // namespace

void import_pow(Call &call) {
  const Value &base = call.value(0);
  const std::optional<int> exponent = whole_exponent(call);
  if (exponent && (*exponent == 2 || !is_float(base.type))) {
    call.result(product_of_powers(call, base, *exponent));
  } else if (is_float(base.type)) {
    import_binary(call);
  } else { // as of numbers of 64 bits, and cut to integers
    const Value power = call.apply(
        "pow", {call.apply("cast_f64", {base}), call.apply("cast_f64", {call.value(1)})});
    call.result(call.apply("cast_like", {power, base}));
  }
}

void import_variadic(Call &call) { call.result(accumulate(call, call.function())); }

void import_mean(Call &call) {
  const Value total = accumulate(call, "add");
  if (!is_float(total.type))
    call.fail(ErrorCode::Type, "its operands must be of a float type");
  const double count = static_cast<double>(std::max<std::size_t>(call.inputs(), 1));
  call.result(call.apply("mul", {total, scalar_constant(1 / count, total.type)}));
}

void import_clip_attributes(Call &call) {
  const auto bound = [&](const char *name) {
    return call.has_attribute(name) ? std::optional(call.real(name, 0)) : std::nullopt;
  };
  call.result(clip_by_numbers(call, bound("min"), bound("max")));
}

void import_clip(Call &call) {
  if (!is_number(call, 1) || !is_number(call, 2)) {
    call.result(clip_by_tensors(call));
    return;
  }
  const auto bound = [&](std::size_t i, const char *what) {
    return call.has(i) ? std::optional(call.number(i, what)) : std::nullopt;
  };
  call.result(clip_by_numbers(call, bound(1, "min"), bound(2, "max")));
}

void import_prelu(Call &call) {
  const Value &input = call.value(0);
  Value slope = call.value(1);
  const bool per_channel =
      slope.shape.size() == 1 && input.shape.size() > 1 && slope.shape[0] == input.shape[1];
  if (call.opset() < 7 && per_channel) {
    program::Shape shape(input.shape.size() - 1, 1);
    shape[0] = slope.shape[0];
    slope = call.reshape(slope, shape);
  }
  const Value result = call.apply("prelu", {input, slope});
  if (result.shape != input.shape)
    call.fail(ErrorCode::Shape, fmt::format("its slope {} does not broadcast to {}",
                                            to_text(slope.shape), to_text(input.shape)));
  call.result(result);
}

void import_where(Call &call) {
  call.result(call.apply("where", {call.value(0), call.value(1), call.value(2)}));
}

void import_cast(Call &call) {
  const auto type = to_dtype(static_cast<int>(call.integer("to", 0)));
  if (!type)
    call.fail(ErrorCode::Unsupported,
              fmt::format("a cast to {} is not supported",
                          type_name(static_cast<int>(call.integer("to", 0)))));
  call.result(cast_to(call, call.value(0), *type));
}

void import_cast_like(Call &call) { call.result(cast_to(call, call.value(0), call.value(1).type)); }

void import_gelu(Call &call) {
  const bool approximate = call.text("approximate", "none") == "tanh";
  call.result(call.apply(approximate ? "gelu_tanh" : "gelu", {call.value(0)}));
}

void import_mod(Call &call) {
  const bool truncates = call.flag("fmod", false);
  call.result(call.apply(truncates ? "mod" : "mod_floor", {call.value(0), call.value(1)}));
}

void import_is_inf(Call &call) {
  const bool negative = call.flag("detect_negative", true);
  const bool positive = call.flag("detect_positive", true);
  const Value &input = call.value(0);
  if (!negative && !positive) {
    call.result(call.apply("less", {input, input}));
    return;
  }
  call.result(call.apply(negative && positive ? "is_inf"
                         : negative           ? "is_inf_negative"
                                              : "is_inf_positive",
                         {input}));
}

void import_bit_shift(Call &call) {
  const bool is_left = call.text("direction", "") == "LEFT";
  const Value &input = call.value(0);
  call.result(call.apply(is_left ? "bit_left" : "bit_right", {input, call.value(1)},
                         {{"BITS", 8 * size_bytes(input.type)}}));
}

} // namespace tilefuse::onnx_import
