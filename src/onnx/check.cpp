// SPDX-License-Identifier: Apache-2.0
#include "onnx/check.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "onnx/table.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::AttributeProto;

// Of the operators in our table; those of training have names of their own.
// onnxruntime has the standard's linear quantisation in its own domain too, for all opsets.
bool has_known_domain(const onnx::NodeProto &node) {
  const std::string &domain = node.domain();
  return domain.empty() || domain == "ai.onnx" || domain == "ai.onnx.preview.training" ||
         (domain == "com.microsoft" &&
          (node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear"));
}

std::string shown(const std::string &name) {
  return name.empty() ? "(without name)" : tilefuse::quoted(name);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

std::string value_text(const AttributeProto &attribute) {
  return attribute.has_s() ? attribute.s() : fmt::format("{}", attribute.i());
}

// Empty when a row understands the attribute, else what is wrong.
std::string lacking_attribute(const AttributeProto &attribute, const Operator &row) {
  if (!attribute.ref_attr_name().empty())
    return "attribute reference " + tilefuse::quoted(attribute.name());
  for (const std::string_view entry : split(row.attributes, ' ')) {
    const std::size_t equals = entry.find('=');
    if (entry.substr(0, equals) != attribute.name())
      continue;
    if (equals == std::string_view::npos)
      return {};
    const std::string value = value_text(attribute);
    for (const std::string_view accepted : split(entry.substr(equals + 1), '|'))
      if (value == accepted)
        return {};
    return fmt::format("{} = {}", attribute.name(),
                       attribute.has_s() ? tilefuse::quoted(value) : value);
  }
  return (attribute.has_g() ? "sub-graph in attribute " : "attribute ") +
         tilefuse::quoted(attribute.name());
}

class Check {
public:
  Check(const ModelFile &file, const onnx::GraphProto &graph, Lacking &lacking)
      : file_(file), lacking_(lacking) {
    add_used_names(graph, used_);
    for (const auto &function : file.model.functions())
      functions_.insert(function.domain() + ":" + function.name());
  }

  // False when the node needs what we lack.
  bool node(const onnx::NodeProto &node) {
    const std::string &name = name_of(node);
    const std::string type = tilefuse::quoted(node.op_type());
    if (functions_.contains(node.domain() + ":" + node.op_type()))
      return lack("model-local function " + type, name);
    if (!has_known_domain(node))
      return lack(fmt::format("operator {} of domain {}", type, tilefuse::quoted(node.domain())),
                  name);
    const Operator *row = find_operator(node.op_type(), file_.opset);
    if (row == nullptr)
      return lack(fmt::format("operator {} of opset {}", type, file_.opset), name);
    bool is_known = true;
    for (const AttributeProto &attribute : node.attribute()) {
      const std::string what = lacking_attribute(attribute, *row);
      if (!what.empty())
        is_known = lack(fmt::format("{} with {}", node.op_type(), what), name);
    }
    for (int i = row->results; i < node.output_size(); ++i)
      if (!node.output(i).empty() && used_.contains(node.output(i)))
        is_known = lack(fmt::format("result {} of {}", i, node.op_type()), name);
    return is_known;
  }

private:
  bool lack(const std::string &what, const std::string &name) {
    lacking_.add(what, name);
    return false;
  }

  const ModelFile &file_;
  Lacking &lacking_;
  std::set<std::string> used_;
  std::set<std::string> functions_;
};

void check_type(int data_type, const std::string &name, Lacking &lacking) {
  if (!to_dtype(data_type))
    lacking.add("tensor of " + type_name(data_type), name);
}

} // namespace

void add_used_names(const onnx::GraphProto &graph, std::set<std::string> &used) {
  for (const auto &node : graph.node()) {
    used.insert(node.input().begin(), node.input().end());
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        add_used_names(attribute.g(), used);
  }
  for (const auto &output : graph.output())
    used.insert(output.name());
}

const std::string &name_of(const onnx::NodeProto &node) {
  return node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
}

void Lacking::add(const std::string &what, const std::string &name) {
  reasons_[what].push_back(shown(name));
  gaps_.push_back({name, what});
}

void Lacking::add(const Error &error, const std::string &name) {
  errors_.push_back(error);
  gaps_.push_back({name, error.message()});
}

void Lacking::refuse() const {
  if (reasons_.empty() && errors_.size() == 1)
    throw errors_.front();
  std::vector<std::string> kinds;
  std::vector<std::string> notes;
  for (const auto &[what, names] : reasons_) {
    kinds.push_back(what);
    notes.push_back(fmt::format("{}: {} ({})", what, names.size(), fmt::join(names, ", ")));
  }
  for (const Error &error : errors_) {
    const std::string text = fmt::format("{}: {}", error.where(), error.message());
    kinds.push_back(text);
    notes.push_back(text);
  }
  notes.emplace_back("tilefuse operators lists what is supported; onnx.utils.extract_model cuts "
                     "the part of a model that needs nothing else");
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("the model has operators that are not supported: {}", fmt::join(kinds, "; ")), {},
      notes);
}

void check_tensors(const onnx::GraphProto &graph, Lacking &lacking) {
  for (const auto &tensor : graph.initializer())
    check_type(tensor.data_type(), tensor.name(), lacking);
  for (const auto &tensor : graph.sparse_initializer())
    lacking.add("sparse initializer", tensor.values().name());
  for (const auto &input : graph.input())
    if (input.type().has_tensor_type())
      check_type(input.type().tensor_type().elem_type(), input.name(), lacking);
    else
      lacking.add("input that is not a tensor", input.name());
}

std::set<const onnx::NodeProto *> check_nodes(const ModelFile &file, const onnx::GraphProto &graph,
                                              Lacking &lacking) {
  std::set<const onnx::NodeProto *> refused;
  Check check(file, graph, lacking);
  for (const auto &node : graph.node())
    if (!check.node(node))
      refused.insert(&node);
  return refused;
}

} // namespace tilefuse::onnx_import
