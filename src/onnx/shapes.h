// SPDX-License-Identifier: Apache-2.0
// Binds the symbolic dimensions of a graph's inputs. A dimension without a positive value is
// symbolic. The first of an input is bound by its given shape, else by `batch`, else by its name,
// else it is 1; any other by a given shape, its own or that of an input which names the same
// symbol, or by its name.
#pragma once

#include <map>
#include <set>
#include <string>

#include "onnx.pb.h"
#include "onnx/options.h"

namespace tilefuse::onnx_import {

// The name of an open dimension; empty where it has none. Some exporters write "?" for that.
std::string symbol_of(const onnx::TensorShapeProto::Dimension &dim);

// Shapes by input name, without the names in `initializers`. Error{Shape} names the dimension that
// conflicts or is left unbound, a given shape that belongs to no input, or a name that none has.
std::map<std::string, program::Shape> bind_inputs(const onnx::GraphProto &graph,
                                                  const std::set<std::string> &initializers,
                                                  const Options &options);

} // namespace tilefuse::onnx_import
