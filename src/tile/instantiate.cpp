// SPDX-License-Identifier: Apache-2.0
#include "tile/instantiate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/index.h"

namespace tilefuse::tile {
namespace {

using program::TensorId;

// "I[N, C]" as declared.
std::string declared(const Parameter &parameter) {
  if (!parameter.dims)
    return parameter.name;
  std::vector<std::string> dims;
  for (const ParameterDim &dim : *parameter.dims) {
    const auto *name = std::get_if<std::string>(&dim);
    dims.push_back(name ? *name : fmt::format("{}", std::get<std::int64_t>(dim)));
  }
  return fmt::format("{}[{}]", parameter.name, fmt::join(dims, ", "));
}

std::string attribute_names(const Function &function) {
  std::vector<std::string> names;
  for (const AttributeDeclaration &attribute : function.attributes)
    names.push_back(attribute.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

std::string Instantiation::describe(TensorId tensor) const {
  const program::Tensor &t = program_[tensor];
  return fmt::format("{}[{}]", to_string(t.type), fmt::join(t.shape, ", "));
}

void Instantiation::bind_attributes(Frame &frame, const Attributes &attributes) {
  const Function &function = frame.function();
  for (const auto &[name, value] : attributes) {
    const bool known =
        std::any_of(function.attributes.begin(), function.attributes.end(),
                    [&n = name](const AttributeDeclaration &a) { return a.name == n; });
    if (!known)
      frame.fail(ErrorCode::Type, function.at,
                 fmt::format("got attribute {}, it takes: {}", name, attribute_names(function)));
    frame.bind(name, value);
  }
  for (const AttributeDeclaration &attribute : function.attributes) {
    if (frame.find_scalar(attribute.name))
      continue;
    if (!attribute.value)
      frame.fail(ErrorCode::Type, attribute.at, fmt::format("needs attribute {}", attribute.name));
    frame.bind(attribute.name, *attribute.value);
  }
}

void Instantiation::bind_tensors(Frame &frame, std::span<const TensorId> args) {
  const Function &function = frame.function();
  if (args.size() != function.parameters.size()) {
    std::vector<std::string> parameters;
    for (const Parameter &parameter : function.parameters)
      parameters.push_back(declared(parameter));
    frame.fail(ErrorCode::Shape, function.at,
               fmt::format("got {} tensors, need {} ({})", args.size(), parameters.size(),
                           fmt::join(parameters, ", ")));
  }
  std::map<std::string, std::string> bound_by;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Parameter &parameter = function.parameters[i];
    frame.bind(parameter.name, args[i]);
    if (parameter.type && program_[args[i]].type != *parameter.type)
      frame.fail(ErrorCode::Type, parameter.at,
                 fmt::format("{} is {}, need {}", parameter.name, describe(args[i]),
                             to_string(*parameter.type)));
    bind_dims(frame, parameter, args[i], bound_by);
  }
}

void Instantiation::bind_dims(Frame &frame, const Parameter &parameter, TensorId arg,
                              std::map<std::string, std::string> &bound_by) {
  if (!parameter.dims)
    return;
  const program::Shape &shape = program_[arg].shape;
  if (shape.size() != parameter.dims->size())
    frame.fail(ErrorCode::Shape, parameter.at,
               fmt::format("{} is {}, need {} dimensions: {}", parameter.name, describe(arg),
                           parameter.dims->size(), declared(parameter)));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto *name = std::get_if<std::string>(&(*parameter.dims)[d]);
    const Attribute *old = name ? frame.find_scalar(*name) : nullptr;
    if (name && !old) {
      frame.bind(*name, shape[d]);
      bound_by[*name] = fmt::format("{} {}", declared(parameter), describe(arg));
      continue;
    }
    const std::int64_t need =
        old ? std::get<std::int64_t>(*old) : std::get<std::int64_t>((*parameter.dims)[d]);
    if (shape[d] != need)
      frame.fail(ErrorCode::Shape, parameter.at,
                 fmt::format("dimension {} of {} is {} in {}, need {}{}", d, declared(parameter),
                             shape[d], describe(arg), need,
                             old ? fmt::format(" as in {}", bound_by[*name]) : ""));
  }
}

std::vector<TensorId> Instantiation::apply(const Function &function, std::span<const TensorId> args,
                                           const Attributes &attributes, const Frame *caller,
                                           Position at) {
  Frame frame(function, origin_, caller, at);
  if (frame.depth() > kMaxCallDepth)
    frame.fail(ErrorCode::Limit, function.at,
               fmt::format("functions are nested deeper than {} calls", kMaxCallDepth));
  bind_tensors(frame, args);
  bind_attributes(frame, attributes);
  for (const Definition &statement : function.statements)
    define(frame, statement);
  std::vector<TensorId> results;
  for (const Result &result : function.results)
    results.push_back(frame.tensor(result.name));
  return results;
}

void Instantiation::count_statement(const Frame &frame, Position at) {
  if (++statements_ > kMaxStatements)
    frame.fail(ErrorCode::Limit, at, fmt::format("more than {} statements", kMaxStatements));
}

void Instantiation::define(Frame &frame, const Definition &statement) {
  count_statement(frame, statement.at);
  if (const auto *body = std::get_if<ContractionBody>(&statement.body))
    return frame.bind(statement.name, contraction(frame, statement, *body));
  const auto &value = std::get<Expression>(statement.body);
  if (frame.is_number(value))
    return frame.bind(statement.name, frame.scalar(value));
  if (statement.others.empty())
    return frame.bind(statement.name, tensor_of(frame, value, statement.name));
  const Callee callee = resolve(table_, value.name, frame.function().order);
  const std::vector<TensorId> results = call_function(frame, value, *callee.function);
  frame.bind(statement.name, results.front());
  for (std::size_t i = 1; i < results.size(); ++i)
    frame.bind(statement.others[i - 1].name, results[i]);
}

TensorId Instantiation::emit(const Frame &frame, Position at, program::Tensor tensor,
                             std::variant<program::Contraction, program::Map, program::View> body) {
  count_statement(frame, at);
  const TensorId id = program_.add(std::move(tensor));
  program_.statements.push_back({id, std::move(body), frame.origin(at)});
  return id;
}

std::vector<TensorId> instantiate(const FunctionTable &table, const std::string &function,
                                  std::span<const TensorId> args, const Attributes &attributes,
                                  const Into &to) {
  const auto found = table.find(function);
  if (found == table.end())
    throw Error(ErrorCode::Unsupported, fmt::format("there is no Tile function '{}'", function),
                to.origin);
  for (const TensorId arg : args)
    TILEFUSE_CHECK(to_int(arg) >= 0 &&
                       static_cast<std::size_t>(to_int(arg)) < to.program.tensors.size(),
                   "a Tile function is applied to a tensor that is not in the program");
  return Instantiation(table, to).apply(found->second, args, attributes, nullptr, {});
}

} // namespace tilefuse::tile
