// SPDX-License-Identifier: Apache-2.0
#include "onnx/inline.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"

namespace tilefuse::onnx_import {
namespace {

using Names = std::map<std::string, std::string>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

void rename(std::string &name, const Names &names) {
  const auto found = names.find(name);
  if (found != names.end())
    name = found->second;
}

void rename_nodes(Nodes &nodes, const Names &names) {
  for (onnx::NodeProto &node : nodes) {
    for (std::string &name : *node.mutable_input())
      rename(name, names);
    for (std::string &name : *node.mutable_output())
      rename(name, names);
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (!attribute.has_g())
        continue;
      rename_nodes(*attribute.mutable_g()->mutable_node(), names);
      for (onnx::ValueInfoProto &output : *attribute.mutable_g()->mutable_output())
        rename(*output.mutable_name(), names);
    }
  }
}

void add_results(const Nodes &nodes, const std::string &prefix, Names &names) {
  for (const onnx::NodeProto &node : nodes)
    for (const std::string &name : node.output())
      if (!name.empty())
        names.emplace(name, prefix + name);
}

std::string key_of(const std::string &domain, const std::string &name) {
  return domain + ":" + name;
}

class Inliner {
public:
  explicit Inliner(onnx::ModelProto &model) : model_(model) {
    for (const onnx::FunctionProto &function : model.functions())
      if (opset_of(function) == opset_of(model))
        functions_[key_of(function.domain(), function.name())] = &function;
  }

  void run() {
    if (functions_.empty())
      return;
    Nodes result;
    for (const onnx::NodeProto &node : model_.graph().node())
      add(node, 0, result);
    model_.mutable_graph()->mutable_node()->Swap(&result);
  }

private:
  template <class Holder> static std::int64_t opset_of(const Holder &holder) {
    for (const auto &entry : holder.opset_import())
      if (entry.domain().empty() || entry.domain() == "ai.onnx")
        return entry.version();
    return 0;
  }

  void add(const onnx::NodeProto &node, int depth, Nodes &to) {
    constexpr int kDeepest = 32;
    constexpr int kMostNodes = 1 << 20;
    const auto found = functions_.find(key_of(node.domain(), node.op_type()));
    if (found == functions_.end()) {
      *to.Add() = node;
      return;
    }
    if (depth == kDeepest || to.size() > kMostNodes)
      throw Error(ErrorCode::Limit, fmt::format("function {} has too large a body or calls itself",
                                                tilefuse::quoted(node.op_type())));
    Nodes body = body_of(*found->second, node);
    for (const onnx::NodeProto &inner : body)
      add(inner, depth + 1, to);
  }

  // The nodes of a function for one call of it.
  static Nodes body_of(const onnx::FunctionProto &function, const onnx::NodeProto &call) {
    Nodes body = function.node();
    const std::string prefix = (call.output_size() > 0 ? call.output(0) : call.name()) + "/";
    Names names;
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < function.output_size(); ++i)
      names[function.output(i)] = i < call.output_size() && !call.output(i).empty()
                                      ? call.output(i)
                                      : prefix + function.output(i);
    add_results(body, prefix, names);
    rename_nodes(body, names);
    for (onnx::NodeProto &node : body) {
      bind_attributes(node, call);
      if (!node.name().empty())
        node.set_name(prefix + node.name());
    }
    return body;
  }

  // References to the function's attributes become those of the call, or nothing where it has none.
  static void bind_attributes(onnx::NodeProto &node, const onnx::NodeProto &call) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> bound;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty())
        *bound.Add() = attribute;
      for (const onnx::AttributeProto &given : call.attribute())
        if (!attribute.ref_attr_name().empty() && given.name() == attribute.ref_attr_name()) {
          *bound.Add() = given;
          bound[bound.size() - 1].set_name(attribute.name());
        }
    }
    node.mutable_attribute()->Swap(&bound);
  }

  onnx::ModelProto &model_;
  std::map<std::string, const onnx::FunctionProto *> functions_;
};

} // namespace

void inline_functions(onnx::ModelProto &model) { Inliner(model).run(); }

onnx::GraphProto with_prefix(const onnx::GraphProto &graph, const std::string &prefix) {
  onnx::GraphProto result = graph;
  Names names;
  add_results(graph.node(), prefix, names);
  for (onnx::TensorProto &tensor : *result.mutable_initializer()) {
    names.emplace(tensor.name(), prefix + tensor.name());
    tensor.set_name(prefix + tensor.name());
  }
  rename_nodes(*result.mutable_node(), names);
  for (onnx::ValueInfoProto &output : *result.mutable_output())
    rename(*output.mutable_name(), names);
  return result;
}

} // namespace tilefuse::onnx_import
