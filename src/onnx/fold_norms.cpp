// SPDX-License-Identifier: Apache-2.0
#include "onnx/fold_norms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/index.h"
#include "onnx/free_names.h"
#include "onnx/products.h"
#include "onnx/stored.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

using program::HostTensor;

constexpr int kNormOperands = 5; // data, scale, offset, mean and variance

double epsilon_of(const onnx::NodeProto &norm) {
  for (const onnx::AttributeProto &each : norm.attribute())
    if (each.name() == "epsilon")
      return static_cast<double>(each.f());
  return 1e-5;
}

// Whether it takes mean and variance of the batch.
bool is_training(const onnx::NodeProto &norm) {
  return std::any_of(norm.attribute().begin(), norm.attribute().end(), [](const auto &each) {
    return each.name() == "training_mode" && each.i() != 0;
  });
}

class Folding {
public:
  explicit Folding(ModelFile &file)
      : file_(file), graph_(*file.model.mutable_graph()), names_(graph_) {
    for (int n = 0; n < graph_.node_size(); ++n) {
      for (const std::string &operand : graph_.node(n).input())
        ++readers_[operand];
      for (const std::string &result : graph_.node(n).output())
        maker_[result] = n;
    }
    for (const onnx::ValueInfoProto &output : graph_.output())
      ++readers_[output.name()];
  }

  void run() {
    std::vector<bool> is_folded(at(graph_.node_size()), false);
    for (int n = 0; n < graph_.node_size(); ++n)
      is_folded[at(n)] = fold(graph_.node(n));
    int n = 0;
    auto &nodes = *graph_.mutable_node();
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const auto &) { return is_folded[at(n++)]; }),
                nodes.end());
  }

private:
  bool fold(const onnx::NodeProto &norm) {
    if (norm.op_type() != "BatchNormalization" || norm.input_size() != kNormOperands ||
        is_training(norm))
      return false;
    const auto made = maker_.find(norm.input(0));
    if (made == maker_.end() || readers_[norm.input(0)] != 1 || has_more_results(norm))
      return false;
    onnx::NodeProto &product = *graph_.mutable_node(made->second);
    if (!is_foldable(product, norm))
      return false;
    scale(product, norm);
    product.set_output(0, norm.output(0));
    return true;
  }

  // Statistics of a batch that are read, or stored as a running mean.
  bool has_more_results(const onnx::NodeProto &norm) {
    for (int i = 1; i < norm.output_size(); ++i)
      if (readers_[norm.output(i)] > 0)
        return true;
    return false;
  }

  bool is_foldable(const onnx::NodeProto &product, const onnx::NodeProto &norm) {
    const onnx::TensorProto *weights = is_product(product) ? weights_of(product, graph_) : nullptr;
    const auto axis = weights != nullptr ? channel_axis(product, at(weights->dims_size()))
                                         : std::optional<std::size_t>();
    if (!axis || !adds_plain_bias(product))
      return false;
    const std::int64_t channels = weights->dims(static_cast<int>(*axis));
    for (int i = 1; i < kNormOperands; ++i)
      if (length(norm.input(i)) != channels)
        return false;
    return !has_bias(product) || length(product.input(kBias)) == channels ||
           length(product.input(kBias)) == 1;
  }

  static bool has_bias(const onnx::NodeProto &product) {
    return product.input_size() > kBias && !product.input(kBias).empty();
  }

  // Of a stored vector of f32; nothing for anything else.
  std::optional<std::int64_t> length(const std::string &name) {
    const onnx::TensorProto *tensor = find_stored(graph_, name);
    const bool is_vector = tensor != nullptr && tensor->data_type() == onnx::TensorProto::FLOAT &&
                           tensor->dims_size() == 1;
    return is_vector ? std::optional<std::int64_t>(tensor->dims(0)) : std::nullopt;
  }

  HostTensor stored(const std::string &name) {
    return to_host_tensor(file_, *find_stored(graph_, name));
  }

  void scale(onnx::NodeProto &product, const onnx::NodeProto &norm) {
    const HostTensor gain = stored(norm.input(1)), offset = stored(norm.input(2)),
                     mean = stored(norm.input(3)), variance = stored(norm.input(4));
    HostTensor weights = stored(product.input(kWeights));
    const std::size_t axis = *channel_axis(product, weights.shape.size());
    const std::int64_t channels = weights.shape[axis];
    const std::int64_t stride = program::row_major(weights.shape)[axis];
    HostTensor bias = program::make_host_tensor("", DType::F32, {channels});
    if (has_bias(product)) {
      const HostTensor added = stored(product.input(kBias));
      for (std::int64_t c = 0; c < channels; ++c)
        set(bias, c, get(added, c % added.shape[0]));
    }
    const auto factor = [&](std::int64_t c) {
      return get(gain, c) / std::sqrt(get(variance, c) + epsilon_of(norm));
    };
    for (std::int64_t i = 0; i < program::elems(weights.shape); ++i)
      set(weights, i, get(weights, i) * factor(i / stride % channels));
    for (std::int64_t c = 0; c < channels; ++c)
      set(bias, c, (get(bias, c) - get(mean, c)) * factor(c) + get(offset, c));
    while (product.input_size() <= kBias)
      product.add_input("");
    product.set_input(kWeights, add(norm.output(0) + "/weights", weights));
    product.set_input(kBias, add(norm.output(0) + "/bias", bias));
  }

  std::string add(const std::string &wanted, const HostTensor &tensor) {
    const std::string name = names_.take(wanted);
    onnx::TensorProto &added = *graph_.add_initializer();
    added.set_name(name);
    store(added, tensor);
    return name;
  }

  ModelFile &file_;
  onnx::GraphProto &graph_;
  FreeNames names_;
  std::map<std::string, int> readers_;
  std::map<std::string, int> maker_; // by result, the node
};

} // namespace

void fold_norms(ModelFile &file) { Folding(file).run(); }

} // namespace tilefuse::onnx_import
