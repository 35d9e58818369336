// SPDX-License-Identifier: Apache-2.0
// Operators that compare the elements of an axis, add them up one after the other, or choose by
// position.
#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

Value without_axis(const Call &call, const Value &value, std::size_t axis) {
  program::Shape shape = value.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return call.reshape(value, shape);
}

// A matrix per element of the leading dimensions.
Value as_matrices(const Call &call, const Value &value) {
  const std::size_t rank = value.shape.size();
  if (rank < 2)
    call.fail(ErrorCode::Shape, fmt::format("its input has shape {}; need a matrix or several",
                                            to_text(value.shape)));
  return call.reshape(value, {elems_between(value.shape, 0, rank - 2), value.shape[rank - 2],
                              value.shape[rank - 1]});
}

} // namespace

void import_arg(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.axis("axis", 0, input.shape.size());
  const bool takes_last = call.flag("select_last_index", false);
  const Value place = apply_along(call, call.function() + (takes_last ? "_last" : ""), input, axis);
  call.result(call.flag("keepdims", true) ? place : without_axis(call, place, axis));
}

void import_top_k(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.axis("axis", -1, input.shape.size());
  const std::int64_t count = call.has_attribute("k") ? call.integer("k", 1) : call.whole(1, "k");
  if (count < 0 || count > input.shape[axis])
    call.fail(ErrorCode::Shape,
              fmt::format("it takes {} of {} elements", count, input.shape[axis]));
  check_comparisons(call, program::elems(input.shape), input.shape[axis]);
  const Value view = along_axis(call, input, axis);
  const Value rank = call.apply(call.flag("largest", true) ? "rank_down" : "rank_up", {view});
  program::Shape shape = input.shape;
  shape[axis] = count;
  const tile::Attributes attributes{{"COUNT", count}};
  call.result(call.reshape(call.apply("of_rank", {view, rank}, attributes), shape));
  call.result(call.reshape(call.apply("place_of_rank", {rank}, attributes), shape), 1);
}

void import_cumulative(Call &call) {
  const Value &input = call.value(0);
  const std::size_t axis = call.resolve_axis(call.whole(1, "axis"), input.shape.size());
  const std::string name = call.function() + (call.flag("reverse", false) ? "_after" : "_before");
  tile::Attributes attributes;
  if (call.function() == "sum")
    attributes["SKIP"] = std::int64_t{call.flag("exclusive", false)};
  if (call.flag("exclusive", false) && input.shape[axis] == 1) {
    call.result(zeros(call, input.type, input.shape)); // sums of nothing
    return;
  }
  call.result(apply_along(call, name, input, axis, attributes));
}

void import_trilu(Call &call) {
  const Value &input = call.value(0);
  const std::int64_t diagonal = call.has(1) ? call.whole(1, "diagonal") : 0;
  const char *function = call.flag("upper", true) ? "upper_triangle" : "lower_triangle";
  call.result(call.reshape(call.apply(function, {as_matrices(call, input)}, {{"K", diagonal}}),
                           input.shape));
}

void import_eye_like(Call &call) {
  const Value &input = call.value(0);
  const auto type = to_dtype(static_cast<int>(call.integer("dtype", 0)));
  if (call.has_attribute("dtype") && !type)
    call.fail(ErrorCode::Unsupported, "its element type is not supported");
  const Value eye = call.apply("eye_like", {input}, {{"K", call.integer("k", 0)}});
  call.result(type && *type != eye.type
                  ? call.apply(fmt::format("cast_{}", to_string(*type)), {eye})
                  : eye);
}

} // namespace tilefuse::onnx_import
