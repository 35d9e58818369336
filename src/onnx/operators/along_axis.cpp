// SPDX-License-Identifier: Apache-2.0
#include "onnx/operators/along_axis.h"

#include <fmt/format.h>

namespace tilefuse::onnx_import {

program::Shape three_dims(const program::Shape &shape, std::size_t axis) {
  return {elems_between(shape, 0, axis), shape[axis], elems_between(shape, axis + 1, shape.size())};
}

Value along_axis(const Call &call, const Value &value, std::size_t axis) {
  return call.reshape(value, three_dims(value.shape, axis));
}

Value apply_along(const Call &call, const std::string &function, const Value &value,
                  std::size_t axis, const tile::Attributes &attributes) {
  const Value result = call.apply(function, {along_axis(call, value, axis)}, attributes);
  program::Shape shape = value.shape;
  shape[axis] = result.shape[1];
  return call.reshape(result, shape);
}

Value window_along(const Call &call, const Value &value, std::size_t axis, std::int64_t begin,
                   std::int64_t size) {
  if (begin == 0 && size == value.shape[axis])
    return value;
  return apply_along(call, "window", value, axis, {{"BEGIN", begin}, {"SIZE", size}});
}

Value scalar_constant(double number, DType type) {
  program::HostTensor tensor = program::make_host_tensor({}, type, {});
  program::set(tensor, 0, number);
  return make_constant(std::move(tensor));
}

Value zeros(const Call &call, DType type, const program::Shape &shape) {
  call.make_elems(call.elems(shape), type);
  return make_constant(program::make_host_tensor({}, type, shape));
}

void check_comparisons(const Call &call, std::int64_t elements, std::int64_t positions) {
  constexpr std::int64_t kMost = std::int64_t{1} << 36;
  std::int64_t count = 0;
  if (__builtin_mul_overflow(elements, positions, &count) || count > kMost)
    call.fail(ErrorCode::Unsupported,
              fmt::format("it would look for {} elements among {} positions each, and at most {} "
                          "comparisons are supported; onnxruntime runs such a node",
                          elements, positions, kMost));
}

} // namespace tilefuse::onnx_import
