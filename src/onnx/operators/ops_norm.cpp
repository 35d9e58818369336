// SPDX-License-Identifier: Apache-2.0
// Normalisations and softmax.
#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/window.h"

namespace tilefuse::onnx_import {

void import_batch_norm(Call &call) {
  const Value &input = call.value(0);
  if (input.shape.size() < 2 || input.shape.size() > 5)
    call.fail(ErrorCode::Unsupported,
              fmt::format("its input has shape {}; need [N, C] and up to 3 spatial dimensions",
                          to_text(input.shape)));
  const std::vector<Value> args{input, call.value(1), call.value(2), call.value(3), call.value(4)};
  call.result(call.apply(by_rank("batch_norm", input.shape.size() - 2), args,
                         {{"EPSILON", call.real("epsilon", 1e-5)}}));
}

void import_instance_norm(Call &call) {
  const Value &input = call.value(0);
  spatial_sizes(call, input);
  const Value merged = call.reshape(
      input, {input.shape[0], input.shape[1], elems_between(input.shape, 2, input.shape.size())});
  const Value result = call.apply("instance_norm", {merged, call.value(1), call.value(2)},
                                  {{"EPSILON", call.real("epsilon", 1e-5)}});
  call.result(call.reshape(result, input.shape));
}

void import_layer_norm(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.axis("axis", -1, input.shape.size());
  const std::int64_t inner = elems_between(input.shape, axis, input.shape.size());
  const auto flat = [&](const Value &value) { return call.reshape(value, {inner}); };
  const Value rows = call.reshape(input, {elems_between(input.shape, 0, axis), inner});
  const tile::Attributes attributes{{"EPSILON", call.real("epsilon", 1e-5)}};
  const Value scale = flat(call.value(1));
  const Value bias = call.has(2) ? flat(call.value(2)) : call.apply("sub", {scale, scale});
  call.result(call.reshape(call.apply("layer_norm", {rows, scale, bias}, attributes), input.shape));
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
  const std::size_t rank = input.shape.size();
  const std::size_t axis = call.axis("axis", -1, rank);
  const Value view = call.reshape(input, {elems_between(input.shape, 0, axis), input.shape[axis],
                                          elems_between(input.shape, axis + 1, rank)});
  call.result(call.reshape(call.apply(call.function(), {view}), input.shape));
}

} // namespace tilefuse::onnx_import
