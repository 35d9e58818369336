// SPDX-License-Identifier: Apache-2.0
// One node while it is imported: what a row's handler reads (operands, attributes) and what it
// makes (Tile functions, views, results). Reading checks presence and kind and throws with the
// node's name; integers are bounded to 32 bits of magnitude so that arithmetic on a few of them
// cannot overflow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "onnx.pb.h"
#include "onnx/graph.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {

struct Operator;
using Ints = std::vector<std::int64_t>;

class Call {
public:
  // All are borrowed.
  Call(const onnx::NodeProto &node, const Operator &row, std::int64_t opset,
       const std::filesystem::path &folder, Graph &graph);

  // The Tile function that the row names.
  std::string function() const;
  const std::string &op() const { return node_.op_type(); }
  std::int64_t opset() const { return opset_; }
  // "Conv conv1": the operator and the node's name, or its first output's when it has none.
  const std::string &origin() const { return origin_; }
  [[noreturn]] void fail(ErrorCode code, const std::string &message) const;
  // The number of elements of a shape that the node makes; Error{Limit} past 2^62.
  std::int64_t elems(const program::Shape &shape) const { return elems_of(shape, origin_); }

  // Operands. Trailing absent ones are not counted.
  std::size_t inputs() const { return inputs_; }
  bool has(std::size_t i) const;
  const Value &value(std::size_t i) const;
  std::vector<Value> values() const; // all of them
  // A constant operand; Error{Unsupported} naming `what` when it is computed at run time.
  const Value &constant(std::size_t i, const char *what) const;
  // The integers of a constant; Error{Type} naming `what` when it holds others.
  Ints integers_of(const Value &constant, const char *what) const;
  // The integers of a constant operand; Error{Unsupported} naming `what` when it is computed at run
  // time.
  Ints ints(std::size_t i, const char *what) const;
  // As `ints`, values bounded.
  Ints bounded_ints(std::size_t i, const char *what) const;
  // The only element of a constant operand.
  double number(std::size_t i, const char *what) const;
  // The same as an integer, bounded; Error{Limit} for what is none.
  std::int64_t whole(std::size_t i, const char *what) const;

  // Attributes.
  bool has_attribute(const std::string &name) const { return find(name) != nullptr; }
  std::int64_t integer(const std::string &name, std::int64_t otherwise) const;
  // Attribute that is 0 or 1; Error{Unsupported} when it is another number.
  bool flag(const std::string &name, bool otherwise) const;
  double real(const std::string &name, double otherwise) const;
  std::string text(const std::string &name, const std::string &otherwise) const;
  Ints integers(const std::string &name) const;           // empty when absent; bounded
  Ints integers_unbounded(const std::string &name) const; // as written
  std::vector<double> reals(const std::string &name) const;
  std::vector<std::string> words(const std::string &name) const; // empty when absent
  // What later opsets pass as operand `i`: the attribute where it is written, else the constant
  // operand, else empty.
  Ints list(const std::string &attribute, std::size_t i) const;
  Value constant_attribute(const std::string &name) const; // a tensor
  // Attribute `name` in [-rank, rank), made non-negative.
  std::size_t axis(const std::string &name, std::int64_t otherwise, std::size_t rank) const;
  std::size_t resolve_axis(std::int64_t axis, std::size_t rank) const;
  // Attribute `axis` in [-rank, rank], 1 where it is not written: before it dimensions become one.
  std::size_t flattened_axis(std::size_t rank) const;

  // Program.
  Value apply(const std::string &function, const std::vector<Value> &args,
              const tile::Attributes &attributes = {}) const;
  // The same, a statement of the program even where all values are constants.
  Value compute(const std::string &function, const std::vector<Value> &args) const;
  // All results of a function.
  std::vector<Value> apply_all(const std::string &function, const std::vector<Value> &args,
                               const tile::Attributes &attributes = {}) const;
  // A contraction of values, whose access tensors are positions in `operands`, as a tensor of a shape.
  Value contract(const program::Contraction &contraction, const std::vector<Value> &operands,
                 const program::Shape &shape) const;
  Value reshape(const Value &value, const program::Shape &shape) const;
  // Whether the node names result `output`.
  bool wants(std::size_t output) const;
  std::size_t outputs() const { return static_cast<std::size_t>(node_.output_size()); }
  void result(const Value &value, std::size_t output = 0) const;
  // A first dimension that a node writes out, of what has first dimension `from`: the batch that is bound
  // where the file says its own.
  std::int64_t batch_for(std::int64_t written, std::int64_t from) const;
  // Whether operand `i`, a running statistic, learns from batches (options.h).
  bool learns(std::size_t i) const;
  // What the batch says of operand `i`.
  void learn(std::size_t i, const Value &statistic) const;
  // How many batches are normalised together, and the sum over them of one's (options.h).
  std::int64_t lanes() const;
  Value over_lanes(const Value &own) const;
  // Accounts for elements of constants that the node is about to make up; Error{Limit} past what a
  // model may make.
  void make_elems(std::int64_t count, DType type) const;

private:
  const onnx::AttributeProto *find(const std::string &name) const;
  const onnx::AttributeProto *find(const std::string &name,
                                   onnx::AttributeProto::AttributeType type) const;
  std::int64_t bounded(std::int64_t value, const std::string &what) const;

  const onnx::NodeProto &node_;
  const Operator &row_;
  std::int64_t opset_;
  const std::filesystem::path &folder_;
  Graph &graph_;
  std::string origin_;
  std::size_t inputs_ = 0;
};

// "Conv conv1"; control characters of the name become '?', since it is printed.
std::string origin_of(const onnx::NodeProto &node);
// "[1, 3, 8]".
std::string to_text(const program::Shape &shape);
// Elements of a shape from dimension `begin` up to `end`.
std::int64_t elems_between(const program::Shape &shape, std::size_t begin, std::size_t end);

} // namespace tilefuse::onnx_import
