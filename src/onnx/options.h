// SPDX-License-Identifier: Apache-2.0
// What a caller says of a model that the file leaves open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::onnx_import {

struct Options {
  std::optional<std::int64_t> batch; // binds a symbolic first dimension; 1 when unset
  // The first dimension of inputs is the batch and may be bound to another size than the file fixes.
  bool rebinds_batch = false;
  std::map<std::string, program::Shape>
      input_shapes;                         // by graph input: binds its symbolic dimensions
  std::map<std::string, std::int64_t> dims; // by symbol: binds it wherever it stands
  // By graph input of integers: it is no input then but a constant, which shapes may be computed
  // of.
  std::map<std::string, std::vector<std::int64_t>> input_values;
  // Initializers that are inputs of the program, behind the model's own and in f32: what training
  // changes. Names are those of parameters.h.
  std::vector<std::string> parameters;
  // Batch normalisations whose running statistics are among these normalise by the batch's. Behind
  // the model's outputs stand mean and variance of the batch, with n - 1 for n, in the order of
  // `parameters`.
  bool uses_batch_statistics = false;
  // Of how many batches, which are normalised together. Of several, each sum over a batch becomes an
  // output, behind all others, and what it is over all batches an input, behind all others, in the
  // same order.
  std::int64_t lanes = 1;
  // Tensors of the graph that are the program's outputs; none: the graph's.
  std::vector<std::string> outputs;
  // Constants that nodes may make up (ConstantOfShape, Range, Resize, …); more is Error{Limit}.
  std::int64_t made_bytes = std::int64_t{4} << 30;
};

} // namespace tilefuse::onnx_import
