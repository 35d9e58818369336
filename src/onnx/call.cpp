// SPDX-License-Identifier: Apache-2.0
#include "onnx/call.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/scanner.h"
#include "onnx/operator.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::AttributeProto;

constexpr std::int64_t kLargestInteger = std::numeric_limits<std::int32_t>::max();

// Files older than IR 3 leave the type unset.
bool is_of(const AttributeProto &attribute, AttributeProto::AttributeType type) {
  if (attribute.type() != AttributeProto::UNDEFINED)
    return attribute.type() == type;
  switch (type) {
  case AttributeProto::INT:
    return attribute.has_i();
  case AttributeProto::FLOAT:
    return attribute.has_f();
  case AttributeProto::STRING:
    return attribute.has_s();
  case AttributeProto::TENSOR:
    return attribute.has_t();
  default:
    return true;
  }
}

} // namespace

std::string origin_of(const onnx::NodeProto &node) {
  std::string name = node.name();
  if (name.empty())
    name = node.output_size() > 0 ? node.output(0) : "(without name)";
  for (char &c : name)
    if ((c >= 0 && c < ' ') || c == 0x7f)
      c = '?';
  return node.op_type() + " " + name;
}

std::string to_text(const program::Shape &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::int64_t elems_between(const program::Shape &shape, std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t i) { return shape.begin() + static_cast<std::ptrdiff_t>(i); };
  return program::elems(program::Shape(at(begin), at(end)));
}

Call::Call(const onnx::NodeProto &node, const Operator &row, std::int64_t opset,
           const std::filesystem::path &folder, Graph &graph)
    : node_(node), row_(row), opset_(opset), folder_(folder), graph_(graph),
      origin_(origin_of(node)) {
  inputs_ = static_cast<std::size_t>(node.input_size());
  while (inputs_ > 0 && node.input(static_cast<int>(inputs_) - 1).empty())
    --inputs_;
}

std::string Call::function() const { return std::string(row_.function); }

void Call::fail(ErrorCode code, const std::string &message) const {
  throw Error(code, message, origin_);
}

bool Call::has(std::size_t i) const {
  return i < inputs_ && !node_.input(static_cast<int>(i)).empty();
}

const Value &Call::value(std::size_t i) const {
  if (!has(i))
    fail(ErrorCode::Io, fmt::format("operand {} is missing", i));
  const std::string &name = node_.input(static_cast<int>(i));
  if (!graph_.has(name))
    fail(ErrorCode::Io,
         fmt::format("operand {} is {}, which no input, initializer or earlier node defines", i,
                     tilefuse::quoted(name)));
  return graph_.value(name);
}

std::vector<Value> Call::values() const {
  std::vector<Value> all;
  for (std::size_t i = 0; i < inputs_; ++i)
    all.push_back(value(i));
  return all;
}

const Value &Call::constant(std::size_t i, const char *what) const {
  const Value &operand = value(i);
  if (!operand.is_constant())
    fail(ErrorCode::Unsupported,
         fmt::format("its {} is computed at run time; need a constant", what));
  return operand;
}

Ints Call::integers_of(const Value &constant, const char *what) const {
  const std::int64_t count = program::elems(constant.shape);
  Ints list(static_cast<std::size_t>(count));
  if (constant.type == DType::I64) {
    std::copy_n(reinterpret_cast<const std::int64_t *>(constant.data->data()), count, list.begin());
  } else if (constant.type == DType::I32) {
    std::copy_n(reinterpret_cast<const std::int32_t *>(constant.data->data()), count, list.begin());
  } else {
    fail(ErrorCode::Type,
         fmt::format("its {} has elements of {}; need i64", what, to_string(constant.type)));
  }
  return list;
}

Ints Call::ints(std::size_t i, const char *what) const {
  return integers_of(constant(i, what), what);
}

Ints Call::bounded_ints(std::size_t i, const char *what) const {
  Ints list = ints(i, what);
  for (const std::int64_t value : list)
    bounded(value, what);
  return list;
}

double Call::number(std::size_t i, const char *what) const {
  const Value &operand = constant(i, what);
  if (program::elems(operand.shape) != 1)
    fail(ErrorCode::Shape,
         fmt::format("its {} has shape {}; need one element", what, to_text(operand.shape)));
  return load_element(operand.data->data(), operand.type, 0);
}

std::int64_t Call::whole(std::size_t i, const char *what) const {
  const double value = number(i, what);
  if (!(std::abs(value) <= static_cast<double>(kLargestInteger)))
    fail(ErrorCode::Limit,
         fmt::format("its {} is {}; at most {} is supported", what, value, kLargestInteger));
  return static_cast<std::int64_t>(value);
}

const AttributeProto *Call::find(const std::string &name) const {
  for (const AttributeProto &attribute : node_.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

const AttributeProto *Call::find(const std::string &name,
                                 AttributeProto::AttributeType type) const {
  const AttributeProto *attribute = find(name);
  if (attribute && !is_of(*attribute, type))
    fail(ErrorCode::Type, fmt::format("attribute {} must be of kind {}", name,
                                      onnx::AttributeProto_AttributeType_Name(type)));
  return attribute;
}

std::int64_t Call::bounded(std::int64_t value, const std::string &what) const {
  if (value < -kLargestInteger || value > kLargestInteger)
    fail(ErrorCode::Limit,
         fmt::format("{} holds {}; at most {} is supported", what, value, kLargestInteger));
  return value;
}

std::int64_t Call::integer(const std::string &name, std::int64_t otherwise) const {
  const AttributeProto *attribute = find(name, AttributeProto::INT);
  return attribute ? bounded(attribute->i(), name) : otherwise;
}

bool Call::flag(const std::string &name, bool otherwise) const {
  const AttributeProto *attribute = find(name, AttributeProto::INT);
  const std::int64_t value = attribute ? attribute->i() : otherwise;
  if (value != 0 && value != 1)
    fail(ErrorCode::Unsupported, fmt::format("attribute {} is {}; need 0 or 1", name, value));
  return value == 1;
}

double Call::real(const std::string &name, double otherwise) const {
  const AttributeProto *attribute = find(name, AttributeProto::FLOAT);
  return attribute ? static_cast<double>(attribute->f()) : otherwise;
}

std::string Call::text(const std::string &name, const std::string &otherwise) const {
  const AttributeProto *attribute = find(name, AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise;
}

Ints Call::integers(const std::string &name) const {
  Ints list = integers_unbounded(name);
  for (const std::int64_t value : list)
    bounded(value, name);
  return list;
}

Ints Call::integers_unbounded(const std::string &name) const {
  const AttributeProto *attribute = find(name, AttributeProto::INTS);
  return attribute ? Ints(attribute->ints().begin(), attribute->ints().end()) : Ints{};
}

std::vector<double> Call::reals(const std::string &name) const {
  const AttributeProto *attribute = find(name, AttributeProto::FLOATS);
  return attribute ? std::vector<double>(attribute->floats().begin(), attribute->floats().end())
                   : std::vector<double>{};
}

std::vector<std::string> Call::words(const std::string &name) const {
  const AttributeProto *attribute = find(name, AttributeProto::STRINGS);
  return attribute
             ? std::vector<std::string>(attribute->strings().begin(), attribute->strings().end())
             : std::vector<std::string>{};
}

Ints Call::list(const std::string &attribute, std::size_t i) const {
  if (has_attribute(attribute))
    return integers(attribute);
  return has(i) ? bounded_ints(i, attribute.c_str()) : Ints{};
}

Value Call::constant_attribute(const std::string &name) const {
  const AttributeProto *attribute = find(name, AttributeProto::TENSOR);
  if (!attribute)
    fail(ErrorCode::Io, fmt::format("attribute {} is missing", name));
  return make_constant(to_host_tensor(attribute->t(), folder_));
}

std::size_t Call::axis(const std::string &name, std::int64_t otherwise, std::size_t rank) const {
  return resolve_axis(integer(name, otherwise), rank);
}

std::size_t Call::flattened_axis(std::size_t rank) const {
  const std::int64_t written = integer("axis", 1);
  return written == static_cast<std::int64_t>(rank) ? rank : resolve_axis(written, rank);
}

std::size_t Call::resolve_axis(std::int64_t axis, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    fail(ErrorCode::Shape, fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Value Call::apply(const std::string &function, const std::vector<Value> &args,
                  const tile::Attributes &attributes) const {
  return graph_.apply(function, args, attributes, origin_).front();
}

Value Call::compute(const std::string &function, const std::vector<Value> &args) const {
  return graph_.compute(function, args, origin_).front();
}

std::vector<Value> Call::apply_all(const std::string &function, const std::vector<Value> &args,
                                   const tile::Attributes &attributes) const {
  return graph_.apply(function, args, attributes, origin_);
}

Value Call::contract(const program::Contraction &contraction, const std::vector<Value> &operands,
                     const program::Shape &shape) const {
  return graph_.contract(contraction, operands, shape, origin_);
}

Value Call::reshape(const Value &value, const program::Shape &shape) const {
  return graph_.reshape(value, shape, origin_);
}

void Call::make_elems(std::int64_t count, DType type) const {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size_bytes(type), &bytes) || !graph_.reserve(bytes))
    fail(ErrorCode::Limit,
         fmt::format("the model makes up constants of more than {} bytes", graph_.most_made()));
}

std::int64_t Call::batch_for(std::int64_t written, std::int64_t from) const {
  const bool is_batch = graph_.file_batch != 0 && written == graph_.file_batch;
  return is_batch && from == graph_.batch ? from : written;
}

bool Call::learns(std::size_t i) const {
  return graph_.uses_batch_statistics && !graph_.parameter_name(value(i)).empty();
}

void Call::learn(std::size_t i, const Value &statistic) const {
  graph_.learn(graph_.parameter_name(value(i)), statistic);
}

std::int64_t Call::lanes() const { return graph_.lanes; }

Value Call::over_lanes(const Value &own) const { return graph_.over_lanes(own, origin_); }

bool Call::wants(std::size_t output) const {
  return output < outputs() && !node_.output(static_cast<int>(output)).empty();
}

void Call::result(const Value &value, std::size_t output) const {
  const auto position = static_cast<int>(output);
  if (position >= node_.output_size()) {
    if (output == 0)
      fail(ErrorCode::Io, "it has no output");
    return;
  }
  if (!node_.output(position).empty())
    graph_.define(node_.output(position), value);
}

} // namespace tilefuse::onnx_import
