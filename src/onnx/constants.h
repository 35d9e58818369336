// SPDX-License-Identifier: Apache-2.0
// Shape arithmetic on the host, exact in 64 bits. Exporters compute shapes with Shape, Concat, Mul
// and the like; every shape is known here, so such nodes fold while the graph is read and their
// results can be attributes (the shape of a Reshape, the sizes of a Resize). Overflow and division
// by 0 are errors here. Of other constants Tile functions are evaluated (graph.h).
#pragma once

#include <optional>

#include "onnx/call.h"

namespace tilefuse::onnx_import {

// The result of a node whose operands are all small integer constants; none when this is not such a
// node.
std::optional<Value> fold_integers(const Call &call);

// A constant of an integer type.
Value integer_constant(DType type, const program::Shape &shape, const Ints &values);

} // namespace tilefuse::onnx_import
