// SPDX-License-Identifier: Apache-2.0
#include "onnx/fold_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/index.h"
#include "onnx/check.h"
#include "onnx/free_names.h"
#include "onnx/graph.h"
#include "onnx/nodes.h"
#include "onnx/options.h"
#include "onnx/products.h"
#include "onnx/stored.h"

namespace tilefuse::onnx_import {
namespace {

bool has_subgraph(const onnx::NodeProto &node) {
  return std::any_of(
      node.attribute().begin(), node.attribute().end(),
      [](const onnx::AttributeProto &each) { return each.has_g() || each.graphs_size() > 0; });
}

bool is_rounding(const onnx::NodeProto &node) {
  return node.op_type().find("QuantizeLinear") != std::string::npos ||
         node.op_type().find("DequantizeLinear") != std::string::npos;
}

class Folding {
public:
  Folding(ModelFile &file, const tile::Library &ops)
      : file_(file), proto_(*file.model.mutable_graph()), ops_(ops), names_(proto_) {}

  void run() {
    find_constants();
    const std::set<std::string> wanted = wanted_values();
    if (wanted.empty())
      return;
    Graph graph(ops_, Options().made_bytes);
    if (!evaluate(wanted, graph))
      return;
    std::map<std::string, std::string> stored; // by the value, the name of its copy
    for (const std::string &name : wanted)
      stored[name] = store_value(name, graph.value(name));
    for (onnx::NodeProto &node : *proto_.mutable_node())
      for (int i = kWeights; is_folded_into(node) && i < node.input_size(); ++i)
        if (const auto found = stored.find(node.input(i)); found != stored.end())
          node.set_input(i, found->second);
    drop_unread();
  }

private:
  // Values that are stored, and nodes that compute more of them.
  void find_constants() {
    for (const onnx::TensorProto &tensor : proto_.initializer())
      constants_.insert(tensor.name());
    for (int n = 0; n < proto_.node_size(); ++n) {
      const onnx::NodeProto &node = proto_.node(n);
      if (node.op_type() != "Constant" && !computes_constant(node))
        continue;
      constants_.insert(node.output().begin(), node.output().end());
      for (const std::string &result : node.output())
        if (node.op_type() != "Constant")
          maker_[result] = n;
    }
  }

  bool computes_constant(const onnx::NodeProto &node) const {
    return node.input_size() > 0 && !has_subgraph(node) && !is_rounding(node) &&
           std::all_of(node.input().begin(), node.input().end(), [&](const std::string &operand) {
             return operand.empty() || constants_.contains(operand);
           });
  }

  bool is_folded_into(const onnx::NodeProto &node) const {
    return is_product(node) && !maker_.contains(node.output(0));
  }

  // Computed weights and biases of what is no constant itself.
  std::set<std::string> wanted_values() const {
    std::set<std::string> wanted;
    for (const onnx::NodeProto &node : proto_.node())
      for (int i = kWeights; is_folded_into(node) && i < node.input_size(); ++i)
        if (maker_.contains(node.input(i)))
          wanted.insert(node.input(i));
    return wanted;
  }

  // Whether all of `wanted` are constants of `graph` now.
  bool evaluate(const std::set<std::string> &wanted, Graph &graph) const {
    std::set<std::string> read = wanted;
    std::vector<const onnx::NodeProto *> nodes;
    for (int n = proto_.node_size(); n-- > 0;) {
      const onnx::NodeProto &node = proto_.node(n);
      const bool is_read = std::any_of(node.output().begin(), node.output().end(),
                                       [&](const auto &result) { return read.contains(result); });
      if (!is_read)
        continue;
      nodes.push_back(&node);
      read.insert(node.input().begin(), node.input().end());
    }
    onnx::GraphProto part;
    for (const onnx::TensorProto &tensor : proto_.initializer())
      if (read.contains(tensor.name()))
        *part.add_initializer() = tensor;
    for (std::size_t n = nodes.size(); n-- > 0;)
      *part.add_node() = *nodes[n];
    Lacking lacking(true);
    NodeImporter importer(file_, graph, lacking);
    importer.define_initializers(part);
    importer.run(part);
    return lacking.empty() &&
           std::all_of(wanted.begin(), wanted.end(), [&](const std::string &name) {
             return graph.has(name) && graph.value(name).is_constant();
           });
  }

  // A name of its own: a node that makes other values too may stay.
  std::string store_value(const std::string &name, const Value &value) {
    const std::string own = names_.take(name + "/stored");
    onnx::TensorProto &added = *proto_.add_initializer();
    added.set_name(own);
    store(added, {.name = own, .type = value.type, .shape = value.shape, .data = *value.data});
    return own;
  }

  // Of the nodes that compute constants those whose results nothing reads by now.
  void drop_unread() {
    std::set<std::string> read;
    for (const onnx::ValueInfoProto &output : proto_.output())
      read.insert(output.name());
    std::vector<bool> is_dropped(at(proto_.node_size()), false);
    for (int n = proto_.node_size(); n-- > 0;) {
      const onnx::NodeProto &node = proto_.node(n);
      is_dropped[at(n)] =
          std::all_of(node.output().begin(), node.output().end(), [&](const auto &result) {
            return maker_.contains(result) && !read.contains(result);
          });
      if (!is_dropped[at(n)])
        read.insert(node.input().begin(), node.input().end());
    }
    int n = 0;
    auto &nodes = *proto_.mutable_node();
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const auto &) { return is_dropped[at(n++)]; }),
                nodes.end());
  }

  ModelFile &file_;
  onnx::GraphProto &proto_;
  const tile::Library &ops_;
  FreeNames names_;
  std::set<std::string> constants_;
  std::map<std::string, int> maker_; // of those that are computed, the node
};

} // namespace

void fold_weights(ModelFile &file, const tile::Library &ops) { Folding(file, ops).run(); }

} // namespace tilefuse::onnx_import
