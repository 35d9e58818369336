// SPDX-License-Identifier: Apache-2.0
// Normalisations and softmax.
#include <algorithm>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"
#include "onnx/operators/ops_reduce.h"
#include "onnx/operators/window.h"

namespace tilefuse::onnx_import {
namespace {

tile::Attributes epsilon(const Call &call) { return {{"EPSILON", call.real("epsilon", 1e-5)}}; }

// [N, C, elements of all spatial dimensions].
Value by_channel(const Call &call, const Value &value) {
  return call.reshape(
      value, {value.shape[0], value.shape[1], elems_between(value.shape, 2, value.shape.size())});
}

void import_trained_batch_norm(Call &call) {
  const Value &input = call.value(0);
  const Value &mean = call.value(3);
  const std::size_t rank = input.shape.size() - 2;
  const std::vector<Value> sums = call.apply_all(by_rank("batch_sums", rank), {input, mean});
  tile::Attributes attributes = epsilon(call);
  attributes["LANES"] = call.lanes();
  const std::vector<Value> results =
      call.apply_all(by_rank("batch_norm", rank) + "_train",
                     {input, call.value(1), call.value(2), mean, call.over_lanes(sums[0]),
                      call.over_lanes(sums[1])},
                     attributes);
  call.result(results[0]);
  call.learn(3, results[1]);
  call.learn(4, results[2]);
}

} // namespace

void import_batch_norm(Call &call) {
  const Value &input = call.value(0);
  if (input.shape.size() < 2 || input.shape.size() > 5)
    call.fail(ErrorCode::Unsupported,
              fmt::format("its input has shape {}; need [N, C] and up to 3 spatial dimensions",
                          to_text(input.shape)));
  if (call.learns(3)) {
    return import_trained_batch_norm(call);
  }
  Value mean = call.value(3), variance = call.value(4);
  if (call.flag("training_mode", false)) {
    const std::vector<Value> moments = call.apply_all("batch_moments", {by_channel(call, input)});
    const tile::Attributes keep{{"KEEP", call.real("momentum", 0.9)}};
    call.result(call.apply("blend", {mean, moments[0]}, keep), 1);
    call.result(call.apply("blend", {variance, moments[1]}, keep), 2);
    mean = moments[0];
    variance = moments[1];
  }
  call.result(call.apply(by_rank("batch_norm", input.shape.size() - 2),
                         {input, call.value(1), call.value(2), mean, variance}, epsilon(call)));
}

void import_instance_norm(Call &call) {
  const Value &input = call.value(0);
  spatial_sizes(call, input);
  const Value result = call.apply(
      "instance_norm", {by_channel(call, input), call.value(1), call.value(2)}, epsilon(call));
  call.result(call.reshape(result, input.shape));
}

void import_group_norm(Call &call) {
  const Value &input = call.value(0);
  const std::int64_t groups = call.integer("num_groups", 0);
  if (input.shape.size() < 2 || groups < 1 || input.shape[1] % groups != 0)
    call.fail(ErrorCode::Shape,
              fmt::format("{} groups do not fit {}", groups, to_text(input.shape)));
  const std::int64_t rows = input.shape[0] * groups;
  const std::int64_t scales = program::elems(call.value(1).shape);
  if (program::elems(input.shape) < 1 || (scales != groups && scales != input.shape[1]))
    call.fail(ErrorCode::Shape,
              fmt::format("{} scales do not fit {}", scales, to_text(input.shape)));
  const Value flat = call.reshape(input, {rows, program::elems(input.shape) / rows});
  const Value standard = call.apply("standardize", {flat}, epsilon(call));
  const Value view = call.reshape(
      standard, {input.shape[0], scales, program::elems(input.shape) / (input.shape[0] * scales)});
  call.result(call.reshape(call.apply("scale_channels", {view, call.value(1), call.value(2)}),
                           input.shape));
}

void import_layer_norm(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.axis("axis", -1, input.shape.size());
  const std::int64_t inner = elems_between(input.shape, axis, input.shape.size());
  const Value rows = call.reshape(input, {elems_between(input.shape, 0, axis), inner});
  const Value scale = call.reshape(call.value(1), {inner});
  const Value bias =
      call.has(2) ? call.reshape(call.value(2), {inner}) : call.apply("sub", {scale, scale});
  call.result(
      call.reshape(call.apply("layer_norm", {rows, scale, bias}, epsilon(call)), input.shape));
  program::Shape reduced = input.shape;
  std::fill(reduced.begin() + static_cast<std::ptrdiff_t>(axis), reduced.end(), 1);
  if (call.wants(1))
    call.result(call.reshape(call.apply("row_mean", {rows}), reduced), 1);
  if (call.wants(2))
    call.result(call.reshape(call.apply("row_inverse_deviation", {rows}, epsilon(call)), reduced),
                2);
}

void import_rms_norm(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.axis("axis", -1, input.shape.size());
  const std::int64_t inner = elems_between(input.shape, axis, input.shape.size());
  const Value rows = call.reshape(input, {elems_between(input.shape, 0, axis), inner});
  const Value &scale = call.value(1);
  call.result(call.reshape(
      call.apply("rms_norm", {rows, call.reshape(scale, {inner})}, epsilon(call)), input.shape));
}

void import_lp_norm(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.axis("axis", -1, input.shape.size());
  call.result(apply_along(call, call.integer("p", 2) == 1 ? "lp_norm1" : "lp_norm2", input, axis));
}

void import_mean_variance_norm(Call &call) {
  const Value &input = call.value(0);
  Ints axes = call.integers("axes");
  if (!call.has_attribute("axes"))
    axes = {0, 2, 3};
  std::vector<bool> reduced(input.shape.size(), false);
  for (const std::int64_t axis : axes)
    reduced[call.resolve_axis(axis, reduced.size())] = true;
  const Value deviation = call.apply("sub", {input, mean_over(call, input, reduced)});
  const Value square = call.apply("mul", {deviation, deviation});
  call.result(call.apply("over_deviation", {deviation, mean_over(call, square, reduced)}));
}

void import_lrn(Call &call) {
  const std::int64_t size = call.integer("size", 0);
  if (size < 1)
    call.fail(ErrorCode::Shape, fmt::format("size is {}; need at least 1", size));
  call.result(call.apply("lrn", {call.value(0)},
                         {{"SIZE", size},
                          {"ALPHA", call.real("alpha", 0.0001)},
                          {"BETA", call.real("beta", 0.75)},
                          {"BIAS", call.real("bias", 1)}}));
}

void import_softmax_flat(Call &call) {
  const Value &input = call.value(0);
  const std::size_t rank = input.shape.size(), axis = call.flattened_axis(rank);
  const Value flat = call.reshape(
      input, {elems_between(input.shape, 0, axis), elems_between(input.shape, axis, rank), 1});
  call.result(call.reshape(call.apply(call.function(), {flat}), input.shape));
}

void import_softmax(Call &call) {
  const Value &input = call.value(0);
  call.result(apply_along(call, call.function(), input, call.axis("axis", -1, input.shape.size())));
}

} // namespace tilefuse::onnx_import
