// SPDX-License-Identifier: Apache-2.0
// A group of nodes as the bytes of an ONNX file, which is how the library takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ort/graph.h"

namespace tilefuse::ort {

// The sizes that an input is declared with. -1 leaves one open.
using Sizes = std::function<Shape(const std::string &input)>;
// As onnxruntime knows them.
Shape known_sizes(const Graph &graph, const std::string &input);

// Weights are part of it. Refused where it is more than an ONNX file may have, 2 GiB.
std::string to_onnx(const Graph &graph, const Group &group, const Border &border,
                    const Sizes &sizes);

} // namespace tilefuse::ort
