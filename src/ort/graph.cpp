// SPDX-License-Identifier: Apache-2.0
#include "ort/graph.h"

#include <memory>
#include <numeric>
#include <set>

#include "ort/calls.h"

namespace tilefuse::ort {
namespace {

using Infos = std::vector<const c::ValueInfo *>;

std::vector<std::string> names(const Infos &infos) {
  std::vector<std::string> all;
  for (const c::ValueInfo *info : infos)
    all.push_back(info == nullptr ? "" : text(api().GetValueInfoName, info));
  return all;
}

Tensor tensor_of(const c::ValueInfo *info) {
  Tensor tensor;
  const c::TypeInfo *type = nullptr;
  check(api().GetValueInfoTypeInfo(info, &type));
  const c::TensorInfo *form = nullptr; // borrowed
  if (type != nullptr)
    check(api().CastTypeInfoToTensorInfo(type, &form));
  if (form == nullptr)
    return tensor;
  check(api().GetTensorElementType(form, &tensor.type));
  tensor.shape =
      list<std::int64_t, c::TensorInfo>(api().GetDimensionsCount, api().GetDimensions, form);
  bool is_constant = false;
  check(api().ValueInfo_IsConstantInitializer(info, &is_constant));
  if (is_constant)
    check(api().ValueInfo_GetInitializerValue(info, &tensor.constant));
  return tensor;
}

class Reader {
public:
  explicit Reader(const c::Graph *from) : from_(from) {}

  Graph read() {
    read_opsets();
    for (const c::Node *node :
         list<const c::Node *, c::Graph>(api().Graph_GetNumNodes, api().Graph_GetNodes, from_))
      graph_.nodes.push_back(node_of(node));
    const Infos outputs = list<const c::ValueInfo *, c::Graph>(api().Graph_GetNumOutputs,
                                                               api().Graph_GetOutputs, from_);
    graph_.outputs = known(outputs);
    return std::move(graph_);
  }

private:
  void read_opsets() {
    check(api().Graph_GetOnnxIRVersion(from_, &graph_.ir_version));
    std::size_t count = 0;
    check(api().Graph_GetNumOperatorSets(from_, &count));
    std::vector<const char *> domains(count);
    std::vector<std::int64_t> versions(count);
    check(api().Graph_GetOperatorSets(from_, domains.data(), versions.data(), count));
    for (std::size_t i = 0; i < count; ++i)
      graph_.opsets.emplace_back(domains[i], versions[i]);
  }

  // Their names; the tensors are noted.
  std::vector<std::string> known(const Infos &infos) {
    std::vector<std::string> all = names(infos);
    for (std::size_t i = 0; i < infos.size(); ++i)
      if (!all[i].empty() && !graph_.tensors.contains(all[i]))
        graph_.tensors.emplace(all[i], tensor_of(infos[i]));
    return all;
  }

  Node node_of(const c::Node *from) {
    Node node{.handle = from};
    node.type = text(api().Node_GetOperatorType, from);
    node.domain = text(api().Node_GetDomain, from);
    node.inputs = known(
        list<const c::ValueInfo *, c::Node>(api().Node_GetNumInputs, api().Node_GetInputs, from));
    node.outputs = known(
        list<const c::ValueInfo *, c::Node>(api().Node_GetNumOutputs, api().Node_GetOutputs, from));
    node.implicit = known(list<const c::ValueInfo *, c::Node>(api().Node_GetNumImplicitInputs,
                                                              api().Node_GetImplicitInputs, from));
    std::size_t graphs = 0;
    check(api().Node_GetNumSubgraphs(from, &graphs));
    node.has_graphs = graphs > 0;
    node.name = text(api().Node_GetName, from);
    if (node.name.empty())
      node.name = node.type;
    while (!taken_.insert(node.name).second)
      node.name += "#" + std::to_string(graph_.nodes.size());
    return node;
  }

  const c::Graph *from_;
  Graph graph_;
  std::set<std::string> taken_;
};

} // namespace

Graph read_graph(const c::Graph *graph) { return Reader(graph).read(); }

std::vector<std::string> input_names(const c::Node *node) {
  return names(
      list<const c::ValueInfo *, c::Node>(api().Node_GetNumInputs, api().Node_GetInputs, node));
}

std::vector<std::string> output_names(const c::Node *node) {
  return names(
      list<const c::ValueInfo *, c::Node>(api().Node_GetNumOutputs, api().Node_GetOutputs, node));
}

Border border(const Graph &graph, const Group &group) {
  const std::set<std::size_t> inside(group.begin(), group.end());
  std::set<std::string> made;
  std::set<std::string> read_outside(graph.outputs.begin(), graph.outputs.end());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node &node = graph.nodes[n];
    if (inside.contains(n)) {
      made.insert(node.outputs.begin(), node.outputs.end());
      continue;
    }
    read_outside.insert(node.inputs.begin(), node.inputs.end());
    read_outside.insert(node.implicit.begin(), node.implicit.end());
  }
  Border border;
  std::set<std::string> seen = {""};
  for (const std::size_t n : group) {
    for (const std::string &name : graph.nodes[n].inputs)
      if (!made.contains(name) && seen.insert(name).second && !graph.tensors.at(name).constant)
        border.inputs.push_back(name);
    for (const std::string &name : graph.nodes[n].outputs)
      if (!name.empty() && read_outside.contains(name))
        border.outputs.push_back(name);
  }
  return border;
}

Group whole(const Graph &graph) {
  Group group(graph.nodes.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  return group;
}

} // namespace tilefuse::ort
