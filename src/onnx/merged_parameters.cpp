// SPDX-License-Identifier: Apache-2.0
#include "onnx/merged_parameters.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "onnx/free_names.h"
#include "onnx/parameters.h"
#include "onnx/reader.h"
#include "onnx/stored.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

const char *role_of(ParameterKind kind) {
  switch (kind) {
  case ParameterKind::Bias:
    return "bias";
  case ParameterKind::Scale:
    return "scale";
  case ParameterKind::Mean:
    return "mean";
  case ParameterKind::Variance:
    return "variance";
  case ParameterKind::Weight:
    break;
  }
  return "weight";
}

class Separation {
public:
  explicit Separation(ModelFile &file)
      : file_(file), graph_(*file.model.mutable_graph()), names_(graph_) {}

  void run() {
    const auto uses = parameter_uses(graph_);
    find_weights(uses);
    std::map<std::string, std::vector<const ParameterUse *>> readers;
    for (const ParameterUse &use : uses)
      if (use.kind != ParameterKind::Weight && !use.is_moved)
        readers[use.name].push_back(&use);
    for (const auto &[name, each] : readers)
      if (each.size() > 1 && is_all_alike(name))
        separate(name, each);
    remove_released();
  }

private:
  // What tells one layer from another: its node's kind, the input, and the weights before it, or, where none are, its data.
  using Layer = std::tuple<std::string, int, std::string>;

  void find_weights(const std::vector<ParameterUse> &uses) {
    for (const ParameterUse &use : uses)
      if (use.kind == ParameterKind::Weight)
        for (const std::string &output : graph_.node(use.node).output())
          weights_.emplace(output, use.name);
  }

  Layer layer_of(const ParameterUse &use) const {
    const onnx::NodeProto &node = graph_.node(use.node);
    std::string known_by = "of " + node.input(0);
    for (const std::string &input : node.input())
      if (const auto before = weights_.find(input); before != weights_.end())
        known_by = "behind " + before->second;
    if (const auto own = weights_.find(node.output(0)); own != weights_.end())
      known_by = "with " + own->second;
    return {node.op_type(), use.input, known_by};
  }

  bool is_all_alike(const std::string &name) {
    const onnx::TensorProto *tensor = find_stored(graph_, name);
    const auto type = to_dtype(tensor->data_type());
    if (!type || !is_float(*type))
      return false;
    const program::HostTensor value = to_host_tensor(file_, *tensor);
    const std::int64_t count = program::elems(value.shape);
    for (std::int64_t i = 1; i < count; ++i)
      if (program::get(value, i) != program::get(value, 0))
        return false;
    return count > 0;
  }

  // The first layer that reads it keeps it, unless it reads it under another name.
  void separate(const std::string &name, const std::vector<const ParameterUse *> &uses) {
    std::map<Layer, std::string> names;
    for (const ParameterUse *use : uses) {
      const auto [own, is_new] = names.emplace(layer_of(*use), name);
      std::string *input = graph_.mutable_node(use->node)->mutable_input(use->input);
      if (is_new && (*input != name || names.size() > 1))
        own->second = copy(name, *input, *use);
      *input = own->second;
    }
  }

  // An initializer like `name`, under the name by which the node read it if that is an Identity's own.
  std::string copy(const std::string &name, const std::string &read_as, const ParameterUse &use) {
    const program::HostTensor value = to_host_tensor(file_, *find_stored(graph_, name));
    std::string own = read_as;
    if (read_as == name || !release(read_as))
      own = names_.take(graph_.node(use.node).output(0) + "/" + role_of(use.kind));
    onnx::TensorProto &added = *graph_.add_initializer();
    added.set_name(own);
    store(added, value);
    return own;
  }

  // Whether an Identity gives a value this name, and no longer will.
  bool release(const std::string &name) {
    const auto is_maker = [&](const onnx::NodeProto &node) {
      return node.op_type() == "Identity" && node.output_size() == 1 && node.output(0) == name;
    };
    const auto is_name = [&](const onnx::ValueInfoProto &output) { return output.name() == name; };
    return std::any_of(graph_.node().begin(), graph_.node().end(), is_maker) &&
           std::none_of(graph_.output().begin(), graph_.output().end(), is_name) &&
           released_.insert(name).second;
  }

  void remove_released() {
    auto &nodes = *graph_.mutable_node();
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const onnx::NodeProto &node) {
                                 return node.op_type() == "Identity" && node.output_size() == 1 &&
                                        released_.contains(node.output(0));
                               }),
                nodes.end());
  }

  ModelFile &file_;
  onnx::GraphProto &graph_;
  FreeNames names_;
  std::map<std::string, std::string> weights_; // by what is made with them
  std::set<std::string> released_;             // names that Identity nodes gave
};

} // namespace

void separate_merged_parameters(ModelFile &file) { Separation(file).run(); }

} // namespace tilefuse::onnx_import
