// SPDX-License-Identifier: Apache-2.0
#include "onnx/check.h"

#include <map>
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

// What is lacking, and the names of the nodes or tensors that need it.
using Lacking = std::map<std::string, std::vector<std::string>>;

bool is_default_domain(const std::string &domain) { return domain.empty() || domain == "ai.onnx"; }

std::string name_of(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return tilefuse::quoted(node.name());
  return node.output_size() > 0 ? tilefuse::quoted(node.output(0)) : "(without name)";
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
  if (attribute.has_g() || attribute.graphs_size() > 0)
    return "sub-graph in attribute " + tilefuse::quoted(attribute.name());
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
  return "attribute " + tilefuse::quoted(attribute.name());
}

std::set<std::string> used_names(const onnx::GraphProto &graph) {
  std::set<std::string> used;
  for (const auto &node : graph.node())
    used.insert(node.input().begin(), node.input().end());
  for (const auto &output : graph.output())
    used.insert(output.name());
  return used;
}

// Operators with several results that all exist.
bool has_many_results(const std::string &type) { return type == "Split"; }

class Check {
public:
  explicit Check(const ModelFile &file) : file_(file), used_(used_names(file.model.graph())) {
    for (const auto &function : file.model.functions())
      functions_.insert(function.domain() + ":" + function.name());
  }

  Lacking run() {
    const onnx::GraphProto &graph = file_.model.graph();
    for (const auto &node : graph.node())
      check_node(node);
    for (const auto &tensor : graph.initializer())
      check_type(tensor.data_type(), tensor.name());
    for (const auto &tensor : graph.sparse_initializer())
      lacking_["sparse initializer"].push_back(tilefuse::quoted(tensor.values().name()));
    for (const auto &input : graph.input())
      check_input(input);
    return std::move(lacking_);
  }

private:
  void check_node(const onnx::NodeProto &node) {
    if (functions_.contains(node.domain() + ":" + node.op_type())) {
      lacking_["model-local function " + tilefuse::quoted(node.op_type())].push_back(name_of(node));
      return;
    }
    if (!is_default_domain(node.domain())) {
      lacking_[fmt::format("operator {} of domain {}", tilefuse::quoted(node.op_type()),
                           tilefuse::quoted(node.domain()))]
          .push_back(name_of(node));
      return;
    }
    const Operator *row = find_operator(node.op_type(), file_.opset);
    if (row == nullptr) {
      lacking_[fmt::format("operator {} of opset {}", tilefuse::quoted(node.op_type()),
                           file_.opset)]
          .push_back(name_of(node));
      return;
    }
    for (const AttributeProto &attribute : node.attribute()) {
      const std::string what = lacking_attribute(attribute, *row);
      if (!what.empty())
        lacking_[fmt::format("{} with {}", node.op_type(), what)].push_back(name_of(node));
    }
    check_results(node);
  }

  void check_results(const onnx::NodeProto &node) {
    if (has_many_results(node.op_type()))
      return;
    for (int i = 1; i < node.output_size(); ++i)
      if (!node.output(i).empty() && used_.contains(node.output(i)))
        lacking_[fmt::format("result {} of {}", i, node.op_type())].push_back(name_of(node));
  }

  void check_type(int data_type, const std::string &name) {
    if (!to_dtype(data_type))
      lacking_["tensor of " + type_name(data_type)].push_back(tilefuse::quoted(name));
  }

  void check_input(const onnx::ValueInfoProto &input) {
    if (input.type().has_tensor_type())
      check_type(input.type().tensor_type().elem_type(), input.name());
    else
      lacking_["input that is not a tensor"].push_back(tilefuse::quoted(input.name()));
  }

  const ModelFile &file_;
  std::set<std::string> used_;
  std::set<std::string> functions_;
  Lacking lacking_;
};

} // namespace

void check_supported(const ModelFile &file) {
  const Lacking lacking = Check(file).run();
  if (lacking.empty())
    return;
  std::vector<std::string> kinds;
  std::vector<std::string> notes;
  for (const auto &[what, names] : lacking) {
    kinds.push_back(what);
    notes.push_back(fmt::format("{}: {} ({})", what, names.size(), fmt::join(names, ", ")));
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("the model needs what is not supported: {}", fmt::join(kinds, "; ")), {},
              notes);
}

} // namespace tilefuse::onnx_import
