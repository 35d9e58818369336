// SPDX-License-Identifier: Apache-2.0
#include "onnx/head.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "onnx/in_place.h"
#include "onnx/initial.h"
#include "onnx/reader.h"
#include "onnx/stored.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

// Their first input and their result have the classes in the same place, however many there are.
constexpr std::array kAnyClasses = {
    "Softmax", "LogSoftmax", "Sigmoid",           "Relu",        "LeakyRelu",
    "Clip",    "Identity",   "Dropout",           "Cast",        "Flatten",
    "Squeeze", "MaxPool",    "GlobalAveragePool", "AveragePool", "GlobalMaxPool"};

[[noreturn]] void refuse(const std::string &why) {
  throw Error(ErrorCode::Unsupported, fmt::format("the head cannot be replaced: {}", why));
}

std::string describe(const onnx::NodeProto &node) {
  const std::string &name =
      node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return fmt::format("{} {}", node.op_type(), tilefuse::quoted(name));
}

std::int64_t attribute_of(const onnx::NodeProto &node, std::string_view name,
                          std::int64_t otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

// A tensor that is made anew, and the dimension that counts classes.
struct Part {
  onnx::TensorProto *tensor = nullptr;
  std::string name;
  std::size_t axis = 0;
  std::optional<double> value; // of all elements; else they are drawn
};

// What lies between the last layer with parameters and the output.
struct Tail {
  onnx::NodeProto *layer = nullptr;
  std::vector<onnx::NodeProto *> biases; // Add
  std::vector<onnx::NodeProto *> norms;  // BatchNormalization
  std::vector<std::string> tensors;      // results from the layer's to the output
};

class Replacement {
public:
  Replacement(onnx::GraphProto &graph, std::int64_t classes, std::uint64_t seed)
      : graph_(graph), classes_(classes), seed_(seed) {
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      for (const std::string &output : node.output())
        makers_[output] = &node;
      for (const std::string &input : node.input())
        ++readers_[input];
    }
    for (const onnx::ValueInfoProto &output : graph.output())
      ++readers_[output.name()];
  }

  void run() {
    const Tail tail = find_tail();
    add_layer(*tail.layer);
    for (const onnx::NodeProto *bias : tail.biases)
      add_bias(*bias);
    for (const onnx::NodeProto *norm : tail.norms)
      add_norm(*norm);
    set_output(*tail.layer);
    for (const Part &part : parts_)
      renew(part);
    forget_shapes(tail.tensors);
  }

  std::vector<std::string> renewed() const {
    std::vector<std::string> names;
    for (const Part &part : parts_)
      names.push_back(part.name);
    return names;
  }
  std::int64_t classes_before() const { return before_; }

private:
  // ---- Finding

  Tail find_tail() {
    if (graph_.output_size() != 1)
      refuse(fmt::format("the model has {} outputs, need one", graph_.output_size()));
    Tail tail;
    std::string name = graph_.output(0).name();
    while (tail.layer == nullptr) {
      tail.tensors.push_back(name);
      name = step_back(name, tail);
    }
    return tail;
  }

  // Takes the node that makes a tensor into the tail; gives the tensor that it is made from.
  std::string step_back(const std::string &name, Tail &tail) {
    const auto made = makers_.find(name);
    if (made == makers_.end() || made->second->input_size() == 0)
      refuse("no Gemm, MatMul or Conv lies before the output");
    onnx::NodeProto &node = *made->second;
    if (readers_[name] != 1)
      refuse(fmt::format("the result of {} is used {} times", describe(node), readers_[name]));
    const std::string &op = node.op_type();
    if (op == "Gemm" || op == "MatMul" || op == "Conv") {
      tail.layer = &node;
      return name;
    }
    if (op == "Add" && node.input_size() == 2) {
      tail.biases.push_back(&node);
      return node.input(find_stored(graph_, node.input(0)) != nullptr ? 1 : 0);
    }
    if (op == "BatchNormalization")
      tail.norms.push_back(&node);
    else if (std::find(kAnyClasses.begin(), kAnyClasses.end(), op) == kAnyClasses.end() &&
             !is_free_reshape(node))
      refuse(fmt::format(
          "{} lies between the last layer and the output, and may depend on the number of classes",
          describe(node)));
    return node.input(0);
  }

  // A Reshape to a shape without the number of classes.
  bool is_free_reshape(const onnx::NodeProto &node) {
    if (node.op_type() != "Reshape" || node.input_size() != 2)
      return false;
    const onnx::TensorProto *shape = find_stored(graph_, node.input(1));
    if (shape == nullptr || shape->data_type() != onnx::TensorProto::INT64 ||
        shape->data_location() == onnx::TensorProto::EXTERNAL)
      return false;
    const program::HostTensor dims = to_host_tensor(*shape, {});
    for (std::int64_t i = 0; i < program::elems(dims.shape); ++i)
      if (program::get(dims, i) > 1)
        return false;
    return true;
  }

  // ---- What is made anew

  Part &add_part(const onnx::NodeProto &node, const std::string &name) {
    onnx::TensorProto *tensor = find_stored(graph_, name);
    if (tensor == nullptr)
      refuse(fmt::format("{} of {} is not stored in the model but computed", tilefuse::quoted(name),
                         describe(node)));
    const std::optional<DType> type = to_dtype(tensor->data_type());
    if (!type || !is_float(*type))
      refuse(fmt::format("{} of {} is of {}, need floating point", tilefuse::quoted(name),
                         describe(node), type_name(tensor->data_type())));
    if (readers_[name] != 1)
      refuse(fmt::format("{} of {} is used {} times", tilefuse::quoted(name), describe(node),
                         readers_[name]));
    parts_.push_back({tensor, name});
    return parts_.back();
  }

  void add_layer(const onnx::NodeProto &layer) {
    const std::string &op = layer.op_type();
    if (op == "Conv" && attribute_of(layer, "group", 1) != 1)
      refuse(fmt::format("{} has groups", describe(layer)));
    if (layer.input_size() < 2)
      refuse(fmt::format("{} has no weights", describe(layer)));
    Part &weights = add_part(layer, layer.input(1));
    const int rank = weights.tensor->dims_size();
    const bool is_first = op == "Conv" || (op == "Gemm" && attribute_of(layer, "transB", 0) != 0);
    weights.axis = is_first ? 0 : 1;
    if (op == "Conv" ? rank < 3 : rank != 2)
      refuse(fmt::format("the weights of {} have {} dimensions", describe(layer), rank));
    before_ = weights.tensor->dims(static_cast<int>(weights.axis));
    for (int dim = 0; dim < rank; ++dim)
      fan_in_ *= dim == static_cast<int>(weights.axis) ? 1 : weights.tensor->dims(dim);
    if (before_ < 1 || fan_in_ < 1)
      refuse(fmt::format("the weights of {} have no elements", describe(layer)));
    if (layer.input_size() > 2 && !layer.input(2).empty())
      add_vector(layer, layer.input(2), {});
  }

  void add_bias(const onnx::NodeProto &node) {
    const bool is_first = find_stored(graph_, node.input(0)) != nullptr;
    add_vector(node, node.input(is_first ? 0 : 1), {});
  }

  void add_norm(const onnx::NodeProto &node) {
    constexpr std::array<double, 4> kValues = {1, 0, 0, 1}; // scale, bias, mean, variance
    if (node.input_size() != 5)
      refuse(fmt::format("{} has {} inputs, need 5", describe(node), node.input_size()));
    for (std::size_t i = 0; i < kValues.size(); ++i)
      add_vector(node, node.input(static_cast<int>(i) + 1), kValues[i]);
  }

  // A number per class, or one for all of them, which stays.
  void add_vector(const onnx::NodeProto &node, const std::string &name,
                  std::optional<double> value) {
    Part &part = add_part(node, name);
    part.value = value;
    const auto &dims = part.tensor->dims();
    const std::int64_t elems = elems_of({dims.begin(), dims.end()}, name);
    const auto axis = std::find(dims.begin(), dims.end(), before_);
    if (elems == 1 && before_ != 1) {
      parts_.pop_back();
      return;
    }
    if (axis == dims.end() || elems != before_)
      refuse(fmt::format("{} of {} is not one number for each of the {} classes",
                         tilefuse::quoted(name), describe(node), before_));
    part.axis = static_cast<std::size_t>(axis - dims.begin());
  }

  // ---- Changing

  void renew(const Part &part) {
    program::Shape shape(part.tensor->dims().begin(), part.tensor->dims().end());
    shape[part.axis] = classes_;
    const program::HostTensor made =
        part.value
            ? filled(part.name, shape, *part.value)
            : draw_uniform(part.name, shape, 1 / std::sqrt(static_cast<double>(fan_in_)), seed_);
    store(*part.tensor, narrowed(made, *to_dtype(part.tensor->data_type())));
    for (onnx::ValueInfoProto &input :
         *graph_.mutable_input()) // where initializers must be inputs too
      if (input.name() == part.name)
        set_dim(input, part.axis, classes_);
  }

  static onnx::TensorShapeProto::Dimension *dim_of(onnx::ValueInfoProto &value, std::size_t axis) {
    if (!value.type().tensor_type().has_shape())
      return nullptr;
    auto &shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
    return axis < static_cast<std::size_t>(shape.dim_size())
               ? shape.mutable_dim(static_cast<int>(axis))
               : nullptr;
  }

  static void set_dim(onnx::ValueInfoProto &value, std::size_t axis, std::int64_t size) {
    if (auto *dim = dim_of(value, axis); dim != nullptr && dim->has_dim_value())
      dim->set_dim_value(size);
  }

  void set_output(const onnx::NodeProto &layer) {
    onnx::ValueInfoProto &output = *graph_.mutable_output(0);
    const int rank = output.type().tensor_type().shape().dim_size();
    const std::size_t axis =
        layer.op_type() == "MatMul" && rank > 0 ? static_cast<std::size_t>(rank) - 1 : 1;
    const auto *dim = dim_of(output, axis);
    if (dim != nullptr && dim->has_dim_value() && dim->dim_value() != before_)
      refuse(fmt::format("{} has {} classes, but the output {}", describe(layer), before_,
                         dim->dim_value()));
    set_dim(output, axis, classes_);
  }

  // Shapes that the file notes of results that have changed.
  void forget_shapes(const std::vector<std::string> &tensors) {
    auto &infos = *graph_.mutable_value_info();
    infos.erase(std::remove_if(infos.begin(), infos.end(),
                               [&](const auto &info) {
                                 return std::find(tensors.begin(), tensors.end(), info.name()) !=
                                        tensors.end();
                               }),
                infos.end());
  }

  onnx::GraphProto &graph_;
  std::int64_t classes_;
  std::uint64_t seed_;
  std::map<std::string, onnx::NodeProto *> makers_;
  std::map<std::string, int> readers_;
  std::vector<Part> parts_;
  std::int64_t before_ = 0; // classes
  std::int64_t fan_in_ = 1; // of a class
};

} // namespace

Head replace_head(const std::string &path, std::int64_t classes, std::uint64_t seed) {
  TILEFUSE_CHECK(classes > 0, "a head without classes");
  ModelFile file = read_model(path);
  take_in(file.model, in_place(file));
  Replacement replacement(*file.model.mutable_graph(), classes, seed);
  replacement.run();
  return {file.model.SerializeAsString(), replacement.renewed(), replacement.classes_before()};
}

} // namespace tilefuse::onnx_import
