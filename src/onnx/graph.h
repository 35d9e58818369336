// SPDX-License-Identifier: Apache-2.0
// What an ONNX graph has become so far: the program under construction and the value of each tensor
// name. A value is constant (its bytes are at hand) or computed (it has a place in the program).
// What is made of constants alone is evaluated at once, by the evaluator of nests.
// Constants enter the program only when a statement reads them, so that folded shape arithmetic
// leaves nothing behind; equal bytes under one shape enter once.
// A tensor without elements is a constant, also where it is an input: programs hold none, and what sums up its
// elements is a constant too (graph_empty.cpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "program/host_tensor.h"
#include "program/program.h"
#include "tile/tile.h"

namespace tilefuse::onnx_import {

struct Value {
  std::string name;
  DType type = DType::F32;
  program::Shape shape;
  std::shared_ptr<const program::Bytes> data; // of a constant, row-major
  std::optional<program::TensorId> id;        // of a computed value

  bool is_constant() const { return data != nullptr; }
};

class Graph {
public:
  // `most_made`: bytes of constants that nodes may make up (the file's own are bounded by the
  // file).
  Graph(const tile::Library &library, std::int64_t most_made)
      : library_(&library), most_made_(most_made) {}

  program::Program program;
  bool uses_batch_statistics = false; // options.h
  std::int64_t lanes = 1;             // options.h
  std::int64_t file_batch = 0;        // of the first input, where options rebind it; 0: they do not
  std::int64_t batch = 0;             // what it is bound to then

  // False when `bytes` more made up would exceed the limit.
  bool reserve(std::int64_t bytes);
  std::int64_t most_made() const { return most_made_; }

  bool has(const std::string &name) const { return values_.contains(name); }
  // Error{Io} when nothing before has defined `name`, or for a second definition.
  const Value &value(const std::string &name) const;
  void define(const std::string &name, Value value);

  Value add_input(const std::string &name, DType type, const program::Shape &shape);
  // An f32 input as a value of `type`.
  Value add_parameter(const std::string &name, DType type, const program::Shape &shape);
  // The parameter that a value is; empty where it is none.
  std::string parameter_name(const Value &value) const;
  // The tensor of a value; puts a constant into the program.
  program::TensorId tensor(const Value &value);
  // A Tile function applied to values; `origin` names the node. Of constants it is evaluated, unless that would
  // blow up a small constant or exceed what may be made up.
  std::vector<Value> apply(const std::string &function, const std::vector<Value> &args,
                           const tile::Attributes &attributes, const std::string &origin);
  // The same, computed by statements of the program in any case.
  std::vector<Value> compute(const std::string &function, const std::vector<Value> &args,
                             const std::string &origin);
  // A contraction of values, whose access tensors are positions in `operands`, as a tensor of `shape` and of the
  // type of the first. Evaluated as `apply` is.
  Value contract(const program::Contraction &contraction, const std::vector<Value> &operands,
                 const program::Shape &shape, const std::string &origin);
  // The same elements under another shape of as many: a view, or a constant that shares its bytes.
  Value reshape(const Value &value, const program::Shape &shape, const std::string &origin);
  // A statistic of the batch, that training mixes into the running one of that name.
  // Error{Unsupported} where it has one.
  void learn(const std::string &name, const Value &statistic);
  // What `name` learned; null where nothing was.
  const Value *learned(const std::string &name) const;
  // The sum over all lanes of what `own` is of one, an f32 input; `own` itself where there is one lane.
  Value over_lanes(const Value &own, const std::string &origin);
  const std::vector<Value> &lane_sums() const { return lane_sums_; } // of one lane
  // Makes a value an output of the program under `name`; copies what already is an input, a
  // constant or an output.
  void add_output(const std::string &name);

private:
  // Appends statements to a program that reads the tensors and returns its results.
  using Build = std::function<std::vector<program::TensorId>(
      program::Program &program, const std::vector<program::TensorId> &tensors)>;
  // The results of what `build` makes of values: constants where these are and the rule of `apply` allows.
  std::vector<Value> make(const std::vector<Value> &args, const Build &build);
  std::optional<std::vector<Value>> fold(const std::vector<Value> &args, const Build &build);
  std::vector<Value> compute(const std::vector<Value> &args, const Build &build);
  Value of_tensor(program::TensorId id) const;
  // Takes out of a program the statements from `first` on that make nothing or read nothing; their results are
  // constants. Error{Limit} where these exceed what may be made up.
  void drop_empty(program::Program &from, std::size_t first);
  // Makes a tensor the constant that holds `value` everywhere.
  void set_everywhere(program::Tensor &tensor, double value, const std::string &origin);
  bool is_output(program::TensorId id) const;

  const tile::Library *library_;
  std::int64_t most_made_;
  std::int64_t made_ = 0;
  std::map<std::string, Value> values_;
  std::map<program::TensorId, std::string> parameters_;
  std::map<std::string, Value> learned_; // by parameter
  std::vector<Value> lane_sums_;
  std::map<std::tuple<const program::Bytes *, DType, program::Shape>, program::TensorId> constants_;
};

Value make_constant(program::HostTensor tensor);

} // namespace tilefuse::onnx_import
