// SPDX-License-Identifier: Apache-2.0
#include "train/initial_values.h"

#include <cmath>

#include "onnx/initial.h"

namespace tilefuse::train {

using onnx_import::ParameterKind;

program::HostTensor draw(const onnx_import::Parameter &parameter, std::uint64_t seed) {
  const program::Shape &shape = parameter.shape;
  if (parameter.kind == ParameterKind::Scale || parameter.kind == ParameterKind::Variance)
    return onnx_import::filled(parameter.name, shape, 1);
  if (parameter.kind != ParameterKind::Weight || shape.size() < 2)
    return onnx_import::filled(parameter.name, shape, 0);
  const auto taps = static_cast<double>(program::elems(shape) / (shape[0] * shape[1]));
  if (shape.size() > 2) // [outputs, inputs, taps …]
    return onnx_import::draw_normal(parameter.name, shape,
                                    std::sqrt(2 / (static_cast<double>(shape[0]) * taps)), seed);
  const auto inputs = static_cast<double>(parameter.is_transposed ? shape[1] : shape[0]);
  return onnx_import::draw_uniform(parameter.name, shape, 1 / std::sqrt(inputs), seed);
}

} // namespace tilefuse::train
