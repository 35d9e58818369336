// SPDX-License-Identifier: Apache-2.0
// ONNX model → program. Every operator is a Tile function of ops/; a table row binds its
// attributes. Shape arithmetic (Shape, Gather, Concat, … on small integers) is folded here; Dropout
// and Identity vanish.
//
// Before anything else all nodes are checked: one Error{Unsupported} lists every operator,
// attribute or type that is not supported, with node names. Bad files are Error{Io}, bad shapes
// Error{Shape}, overflowing sizes Error{Limit}.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnx/options.h"
#include "program/host_tensor.h"
#include "program/program.h"
#include "tile/tile.h"

namespace tilefuse::onnx_import {

// Reads `path`; external data must lie inside its folder.
program::Program import_model(const std::string &path, const tile::Library &ops,
                              const Options &options);

// A serialized TensorProto (.pb). Error{Io} when it is not one.
program::HostTensor read_tensor(const std::string &path);

} // namespace tilefuse::onnx_import
