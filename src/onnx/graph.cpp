// SPDX-License-Identifier: Apache-2.0
#include "onnx/graph.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "nest/fold/fold.h"

namespace tilefuse::onnx_import {

const Value &Graph::value(const std::string &name) const {
  const auto found = values_.find(name);
  if (found == values_.end())
    throw Error(ErrorCode::Io, fmt::format("no input, initializer or earlier node defines {}",
                                           tilefuse::quoted(name)));
  return found->second;
}

void Graph::define(const std::string &name, Value value) {
  value.name = name;
  if (!values_.emplace(name, std::move(value)).second)
    throw Error(ErrorCode::Io, fmt::format("tensor {} is defined twice", tilefuse::quoted(name)));
}

bool Graph::reserve(std::int64_t bytes) {
  if (bytes > most_made_ - made_)
    return false;
  made_ += bytes;
  return true;
}

Value Graph::of_tensor(program::TensorId id) const {
  const program::Tensor &tensor = program[id];
  return {tensor.name, tensor.type, tensor.shape, tensor.data, id};
}

Value Graph::add_input(const std::string &name, DType type, const program::Shape &shape) {
  const program::TensorId id = program.add({name, type, shape, program::Role::Input, nullptr});
  program.inputs.push_back(id);
  if (program::elems(shape) == 0)
    return make_constant(program::make_host_tensor(name, type, shape));
  return of_tensor(id);
}

Value Graph::add_parameter(const std::string &name, DType type, const program::Shape &shape) {
  Value value = add_input(name, DType::F32, shape);
  if (type != DType::F32)
    value = apply("cast_" + std::string(to_string(type)), {value}, {}, name).front();
  parameters_.emplace(*value.id, name);
  return value;
}

std::string Graph::parameter_name(const Value &value) const {
  const auto found = value.id ? parameters_.find(*value.id) : parameters_.end();
  return found == parameters_.end() ? std::string() : found->second;
}

program::TensorId Graph::tensor(const Value &value) {
  if (value.id)
    return *value.id;
  const auto key = std::make_tuple(value.data.get(), value.type, value.shape);
  const auto found = constants_.find(key);
  if (found != constants_.end())
    return found->second;
  const program::TensorId id =
      program.add({value.name, value.type, value.shape, program::Role::Constant, value.data});
  constants_.emplace(key, id);
  return id;
}

std::optional<std::vector<Value>> Graph::fold(const std::vector<Value> &args, const Build &build) {
  if (!std::all_of(args.begin(), args.end(), [](const Value &arg) { return arg.is_constant(); }))
    return std::nullopt;
  program::Program scratch;
  std::vector<program::TensorId> ids;
  for (const Value &arg : args)
    ids.push_back(scratch.add({arg.name, arg.type, arg.shape, program::Role::Constant, arg.data}));
  const auto outs = build(scratch, ids);
  drop_empty(scratch, 0);
  for (const program::Statement &statement : scratch.statements)
    if (!nest::fold_statement(scratch, statement))
      return std::nullopt;
  std::vector<Value> results;
  for (const program::TensorId id : outs) {
    const program::Tensor &tensor = scratch[id];
    if (!reserve(static_cast<std::int64_t>(tensor.data->size())))
      return std::nullopt;
    results.push_back({tensor.name, tensor.type, tensor.shape, tensor.data, std::nullopt});
  }
  return results;
}

std::vector<Value> Graph::make(const std::vector<Value> &args, const Build &build) {
  if (auto folded = fold(args, build))
    return *std::move(folded);
  return compute(args, build);
}

std::vector<Value> Graph::compute(const std::vector<Value> &args, const Build &build) {
  std::vector<program::TensorId> ids;
  for (const Value &arg : args)
    ids.push_back(tensor(arg));
  const std::size_t first = program.statements.size();
  const std::vector<program::TensorId> outs = build(program, ids);
  drop_empty(program, first);
  std::vector<Value> results;
  for (const program::TensorId id : outs)
    results.push_back(of_tensor(id));
  return results;
}

std::vector<Value> Graph::apply(const std::string &function, const std::vector<Value> &args,
                                const tile::Attributes &attributes, const std::string &origin) {
  return make(args, [&](program::Program &to, const std::vector<program::TensorId> &ids) {
    return library_->instantiate(function, ids, attributes, to, origin, 0);
  });
}

std::vector<Value> Graph::compute(const std::string &function, const std::vector<Value> &args,
                                  const std::string &origin) {
  return compute(args, [&](program::Program &to, const std::vector<program::TensorId> &ids) {
    return library_->instantiate(function, ids, {}, to, origin, 0);
  });
}

Value Graph::contract(const program::Contraction &contraction, const std::vector<Value> &operands,
                      const program::Shape &shape, const std::string &origin) {
  const auto build = [&](program::Program &to, const std::vector<program::TensorId> &ids) {
    program::Contraction bound = contraction;
    for (program::Access &access : bound.in)
      access.tensor = ids[at(access.tensor)];
    const program::TensorId out =
        to.add({origin, operands.front().type, shape, program::Role::Temporary, nullptr});
    to.statements.push_back({out, std::move(bound), origin});
    return std::vector{out};
  };
  return make(operands, build).front();
}

Value Graph::reshape(const Value &value, const program::Shape &shape, const std::string &origin) {
  if (shape == value.shape)
    return value;
  if (program::elems(shape) != program::elems(value.shape))
    throw Error(ErrorCode::Shape,
                fmt::format("cannot view [{}] as [{}]: the number of elements differs",
                            fmt::join(value.shape, ", "), fmt::join(shape, ", ")),
                origin);
  if (value.is_constant())
    return {value.name, value.type, shape, value.data, std::nullopt};
  const program::TensorId id =
      program.add({value.name, value.type, shape, program::Role::Temporary, nullptr});
  program.statements.push_back({id, program::View{*value.id}, origin});
  return of_tensor(id);
}

void Graph::learn(const std::string &name, const Value &statistic) {
  if (!learned_.emplace(name, statistic).second)
    throw Error(ErrorCode::Unsupported,
                fmt::format("two normalisations share the running statistic {}; such models are "
                            "not trained",
                            tilefuse::quoted(name)));
}

const Value *Graph::learned(const std::string &name) const {
  const auto found = learned_.find(name);
  return found == learned_.end() ? nullptr : &found->second;
}

Value Graph::over_lanes(const Value &own, const std::string &origin) {
  if (lanes == 1)
    return own;
  lane_sums_.push_back(own.type == DType::F32 ? own : apply("cast_f32", {own}, {}, origin).front());
  return add_input(fmt::format("sum {} over lanes", lane_sums_.size() - 1), DType::F32, own.shape);
}

bool Graph::is_output(program::TensorId id) const {
  return std::find(program.outputs.begin(), program.outputs.end(), id) != program.outputs.end();
}

void Graph::add_output(const std::string &name) {
  const Value &result = value(name);
  if (program::elems(result.shape) == 0) {
    program.outputs.push_back(
        program.add({name, result.type, result.shape, program::Role::Temporary, nullptr}));
    return;
  }
  program::TensorId id = tensor(result);
  if (program[id].role != program::Role::Temporary || is_output(id)) {
    const program::Expr copy = program::operand(0, result.type);
    const program::TensorId to =
        program.add({name, result.type, result.shape, program::Role::Temporary, nullptr});
    program.statements.push_back({to, program::Map{copy, {id}}, "copy " + name});
    id = to;
  }
  program[id].name = name;
  program.outputs.push_back(id);
}

Value make_constant(program::HostTensor tensor) {
  auto data = std::make_shared<const program::Bytes>(std::move(tensor.data));
  return {std::move(tensor.name), tensor.type, std::move(tensor.shape), std::move(data),
          std::nullopt};
}

} // namespace tilefuse::onnx_import
