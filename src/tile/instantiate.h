// SPDX-License-Identifier: Apache-2.0
// Applies Tile functions: binds tensors, dimensions and attributes, then turns
// each statement into statements of a program. An expression becomes one map;
// calls and tensor built-ins inside it become statements of their own before
// it. One without tensors is a number.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "program/host_tensor.h"
#include "tile/callee.h"
#include "tile/frame.h"
#include "tile/functions.h"

namespace tilefuse::tile {

// Where the statements go.
struct Into {
  program::Program &program;
  const std::string &origin;
  std::int64_t least_size = 1; // of a dimension, and of a constraint's range
};

class Instantiation {
public:
  Instantiation(const FunctionTable &table, const Into &to)
      : table_(table), program_(to.program), origin_(to.origin), least_size_(to.least_size) {}

  // The results of a function. `caller` is null for the outermost one.
  std::vector<program::TensorId> apply(const Function &function,
                                       std::span<const program::TensorId> args,
                                       const Attributes &attributes, const Frame *caller,
                                       Position at);

private:
  struct MapBuilder;

  void bind_attributes(Frame &frame, const Attributes &attributes);
  void define(Frame &frame, const Definition &statement);
  void bind_tensors(Frame &frame, std::span<const program::TensorId> args);
  void bind_dims(Frame &frame, const Parameter &parameter, program::TensorId arg,
                 std::map<std::string, std::string> &bound_by);

  // A tensor with the value of an expression; the tensor itself where the
  // expression is just one.
  program::TensorId tensor_of(const Frame &frame, const Expression &e, const std::string &name);
  program::Expr pointwise(const Frame &frame, const Expression &e, MapBuilder &map);
  program::Expr pointwise_call(const Frame &frame, const Expression &e, MapBuilder &map);
  program::Expr pointwise_builtin(const Frame &frame, const Expression &e, Builtin builtin,
                                  MapBuilder &map);
  program::Expr inlined(const Frame &frame, const Expression &e, const Function &function,
                        MapBuilder &map);
  program::Expr pointwise_operation(const Frame &frame, ScalarOp op, const Expression &e,
                                    MapBuilder &map);
  void check_bitwise(const Frame &frame, ScalarOp op, Position at,
                     const std::vector<program::Expr> &args) const;
  program::TensorId emit_map(const Frame &frame, Position at, MapBuilder map, program::Expr expr,
                             const std::string &name);
  program::Shape broadcast_shape(const Frame &frame, Position at, const MapBuilder &map) const;

  // Calls that make a tensor of their own.
  std::vector<program::TensorId> call_function(const Frame &frame, const Expression &e,
                                               const Function &callee);
  program::TensorId call_builtin(const Frame &frame, const Expression &e, Builtin builtin);
  program::TensorId reshape(const Frame &frame, const Expression &e, program::TensorId in);
  program::TensorId permute(const Frame &frame, const Expression &e, program::TensorId in);
  program::TensorId broadcast(const Frame &frame, const Expression &e, program::TensorId in);
  program::TensorId view(const Frame &frame, Position at, program::TensorId in,
                         program::Shape shape);
  program::TensorId softmax(const Frame &frame, const Expression &e, program::TensorId in,
                            const std::string &rows);
  // Constants: the coordinates 0, 1, … of a dimension, shaped to broadcast over
  // `in`; a shape.
  program::TensorId coordinates(const Frame &frame, const Expression &e, program::TensorId in);
  program::TensorId shape_of(const Frame &frame, const Expression &e, program::TensorId in);
  program::TensorId constant(program::HostTensor host);
  program::HostTensor zeros(const Frame &frame, Position at, DType type,
                            const program::Shape &shape);
  program::TensorId fill(const Frame &frame, const Expression &e, std::size_t fixed, DType type);
  // `what` has these sizes, for messages.
  program::Shape sizes(const Frame &frame, const std::string &what, Position at,
                       std::span<const Expression> list) const;

  program::TensorId contraction(const Frame &frame, const Definition &statement,
                                const ContractionBody &body);
  program::Access access(const Frame &frame, const Reference &reference,
                         const std::vector<std::string> &indices,
                         std::span<const std::size_t> picks) const;
  void add_positions(const Frame &frame, const ContractionBody &body,
                     program::Contraction &c) const;
  DType contraction_type(const Frame &frame, Position at, const ContractionBody &body) const;
  void check_assign(const Frame &frame, Position at, const program::Contraction &c) const;
  void check_init(const Frame &frame, const Reference &init, const program::Tensor &result) const;

  void count_statement(const Frame &frame, Position at);
  program::TensorId emit(const Frame &frame, Position at, program::Tensor tensor,
                         std::variant<program::Contraction, program::Map, program::View> body);
  // "f32[1, 3, 8]"
  std::string describe(program::TensorId tensor) const;

  const FunctionTable &table_;
  program::Program &program_;
  const std::string &origin_;
  const std::int64_t least_size_;
  std::size_t statements_ = 0; // of functions applied and of the program made
  std::int64_t filled_ = 0;    // elements of constants
};

// Library::instantiate.
std::vector<program::TensorId> instantiate(const FunctionTable &table, const std::string &function,
                                           std::span<const program::TensorId> args,
                                           const Attributes &attributes, const Into &to);

} // namespace tilefuse::tile
