// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/flatten_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/flatten/flat_builder.h"
#include "nest/flatten/flat_statement.h"

namespace tilefuse::nest {
namespace {

using program::Expr;
using program::Shape;
using program::StoredProgram;
using program::TensorId;

// One index per dimension of more than one element: the position of each dimension's index, or -1.
std::vector<int> add_indices(FlatBuilder &builder, const Shape &shape) {
  std::vector<int> index_of(shape.size(), -1);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) {
      index_of[d] = static_cast<int>(builder.nest().indices.size());
      builder.add_index(fmt::format("d{}", index_of[d]), shape[d]);
    }
  builder.nest().output_indices = static_cast<int>(builder.nest().indices.size());
  return index_of;
}

// The tensor read at the result's indices, right-aligned; dimensions of one element repeat.
Operand broadcast(FlatBuilder &builder, const StoredProgram &stored, TensorId tensor,
                  const std::vector<int> &index_of) {
  const Shape &shape = stored.program[tensor].shape;
  const program::Window &window = stored.windows[at(tensor)];
  const std::vector<Index> &indices = builder.nest().indices;
  Operand operand = builder.operand(tensor);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Dim dim{{0, std::vector<std::int64_t>(indices.size(), 0)}, shape[d], window.strides[d], false};
    const int index = index_of[index_of.size() - shape.size() + d];
    if (shape[d] != 1 && index >= 0)
      dim.at.coeff[at(index)] = 1;
    operand.dims.push_back(std::move(dim));
  }
  return operand;
}

void check_broadcast(const StoredProgram &stored, TensorId tensor, const Shape &result,
                     const std::string &origin) {
  const Shape &shape = stored.program[tensor].shape;
  bool fits = shape.size() <= result.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d)
    fits = shape[d] == 1 || shape[d] == result[result.size() - shape.size() + d];
  if (!fits)
    throw Error(ErrorCode::Shape,
                fmt::format("an operand of shape [{}] does not broadcast to [{}]",
                            fmt::join(shape, ", "), fmt::join(result, ", ")),
                origin);
}

// Operand k of the map becomes extra position[k].
Expr renumber(const Expr &expr, const std::vector<int> &position) {
  Expr copy = expr;
  if (copy.kind == Expr::Kind::Operand)
    copy.operand = position.at(static_cast<std::size_t>(copy.operand));
  for (Expr &arg : copy.args)
    arg = renumber(arg, position);
  return copy;
}

bool is_empty(const Shape &shape) {
  return std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size <= 0; });
}

} // namespace

std::vector<FlatStatement> flatten_map(const StoredProgram &stored, const program::Map &map,
                                       const program::Statement &statement) {
  const program::Tensor &result = stored.program[statement.out];
  if (is_empty(result.shape))
    return {};
  FlatBuilder builder(stored);
  Nest &nest = builder.nest();
  const std::vector<int> index_of = add_indices(builder, result.shape);
  std::vector<int> position;
  for (const TensorId tensor : map.operands) {
    check_broadcast(stored, tensor, result.shape, statement.origin);
    Operand operand = broadcast(builder, stored, tensor, index_of);
    const auto found = std::find(nest.extras.begin(), nest.extras.end(), operand);
    position.push_back(static_cast<int>(found - nest.extras.begin()));
    if (found == nest.extras.end())
      nest.extras.push_back(std::move(operand));
  }
  nest.out = broadcast(builder, stored, statement.out, index_of);
  nest.acc_type = map.expr.type;
  nest.post = program::cast(renumber(map.expr, position), result.type);
  nest.name = stem(nest);
  return {builder.finish(statement.origin)};
}

std::vector<FlatStatement> flatten_copy(const StoredProgram &stored, TensorId from,
                                        const program::Statement &statement) {
  const program::Tensor &result = stored.program[statement.out];
  if (is_empty(result.shape))
    return {};
  FlatBuilder builder(stored);
  Nest &nest = builder.nest();
  const std::vector<int> index_of = add_indices(builder, result.shape);
  nest.inputs.push_back(broadcast(builder, stored, from, index_of));
  nest.out = broadcast(builder, stored, statement.out, index_of);
  nest.acc_type = accumulator_type(stored.program[from].type);
  nest.post = program::cast(program::acc(nest.acc_type), result.type);
  nest.name = stem(nest);
  return {builder.finish(statement.origin)};
}

} // namespace tilefuse::nest
