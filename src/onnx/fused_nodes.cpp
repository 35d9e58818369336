// SPDX-License-Identifier: Apache-2.0
#include "onnx/fused_nodes.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tilefuse::onnx_import {
namespace {

using onnx::AttributeProto;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Names = std::vector<std::string>;

constexpr std::string_view kActivation = "activation"; // begins the names of its attributes

class Expanding {
public:
  Expanding(const onnx::NodeProto &node, Nodes &to)
      : node_(node), to_(to), prefix_(node.output(0) + "/") {}

  bool has(int i) const { return i < node_.input_size() && !node_.input(i).empty(); }
  std::string input(int i) const { return has(i) ? node_.input(i) : ""; }

  const AttributeProto *find(std::string_view name) const {
    for (const AttributeProto &attribute : node_.attribute())
      if (attribute.name() == name)
        return &attribute;
    return nullptr;
  }
  bool flag(std::string_view name) const { return find(name) != nullptr && find(name)->i() != 0; }
  float real(std::string_view name, float otherwise) const {
    return find(name) != nullptr ? find(name)->f() : otherwise;
  }

  // A node of the standard; gives the name of its result.
  std::string apply(const std::string &op, const Names &inputs) {
    onnx::NodeProto &node = *to_.Add();
    node.set_op_type(op);
    node.set_name(node_.name());
    for (const std::string &name : inputs)
      node.add_input(name);
    node.add_output(prefix_ + std::to_string(count_++));
    return node.output(0);
  }
  std::string number(float value) {
    const std::string result = apply("Constant", {});
    set_real("value_float", value);
    return result;
  }
  // Attributes of the node made last.
  void copy_attributes() {
    for (const AttributeProto &attribute : node_.attribute())
      if (!attribute.name().starts_with(kActivation))
        *last().add_attribute() = attribute;
  }
  void set_real(const std::string &name, float value) {
    AttributeProto &attribute = add(name, AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  void set_whole(const std::string &name, std::int64_t value) {
    AttributeProto &attribute = add(name, AttributeProto::INT);
    attribute.set_i(value);
  }
  void set_text(const std::string &name, const std::string &value) {
    AttributeProto &attribute = add(name, AttributeProto::STRING);
    attribute.set_s(value);
  }
  // The result of the node made last becomes result `output` of the expanded one.
  void finish(int output = 0) { last().set_output(0, node_.output(output)); }
  bool wants(int output) const {
    return output < node_.output_size() && !node_.output(output).empty();
  }

private:
  onnx::NodeProto &last() { return to_[to_.size() - 1]; }
  AttributeProto &add(const std::string &name, AttributeProto::AttributeType type) {
    AttributeProto &attribute = *last().add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }

  const onnx::NodeProto &node_;
  Nodes &to_;
  const std::string prefix_;
  int count_ = 0;
};

// The activation that the attributes name; its numbers in a list or by name.
void activate(Expanding &to, const std::string &value) {
  const AttributeProto *name = to.find("activation");
  if (name == nullptr || name->s().empty())
    return;
  const AttributeProto *list = to.find("activation_params");
  const auto given = [&](int i, const char *attribute, float otherwise) {
    return list != nullptr && i < list->floats_size() ? list->floats(i)
                                                      : to.real(attribute, otherwise);
  };
  if (name->s() == "Clip") {
    const std::string low = to.number(given(0, "", 0)), high = to.number(given(1, "", 0));
    to.apply("Clip", {value, low, high});
    return;
  }
  to.apply(name->s(), {value});
  if (name->s() == "LeakyRelu")
    to.set_real("alpha", given(0, "activation_alpha", 0.01F));
  if (name->s() == "HardSigmoid") {
    to.set_real("alpha", given(0, "activation_alpha", 0.2F));
    to.set_real("beta", given(1, "activation_beta", 0.5F));
  }
}

void fused_conv(Expanding &to) {
  std::string value = to.apply("Conv", to.has(2) ? Names{to.input(0), to.input(1), to.input(2)}
                                                 : Names{to.input(0), to.input(1)});
  to.copy_attributes();
  if (to.has(3))
    value = to.apply("Add", {value, to.input(3)});
  activate(to, value);
  to.finish();
}

void fused_gemm(Expanding &to) {
  const std::string value = to.apply("Gemm", {to.input(0), to.input(1), to.input(2)});
  to.copy_attributes();
  activate(to, value);
  to.finish();
}

void fused_matmul(Expanding &to) {
  std::string value = to.apply("Einsum", {to.input(0), to.input(1)});
  to.set_text("equation", std::string(to.flag("transA") ? "...ki," : "...ik,") +
                              (to.flag("transB") ? "...jk" : "...kj") + "->...ij");
  const float alpha = to.real("alpha", 1);
  if (alpha != 1)
    value = to.apply("Mul", {value, to.number(alpha)});
  to.finish();
}

// x/2 (1 + erf(x/sqrt(2)))
void gelu_of(Expanding &to, const std::string &x) {
  const std::string erf = to.apply("Erf", {to.apply("Mul", {x, to.number(0x1.6a09e6p-1F)})});
  const std::string half = to.apply("Mul", {x, to.number(0.5F)});
  to.apply("Mul", {half, to.apply("Add", {erf, to.number(1)})});
  to.finish();
}

void gelu(Expanding &to) { gelu_of(to, to.input(0)); }
void bias_gelu(Expanding &to) { gelu_of(to, to.apply("Add", {to.input(0), to.input(1)})); }

// x/2 (1 + tanh(x (0.7978845608 + 0.035677408137 x^2)))
void fast_gelu(Expanding &to) {
  const std::string x = to.has(1) ? to.apply("Add", {to.input(0), to.input(1)}) : to.input(0);
  const std::string square =
      to.apply("Mul", {to.apply("Mul", {x, x}), to.number(0.035677408136300125F)});
  const std::string slope = to.apply("Add", {square, to.number(0.7978845608028654F)});
  const std::string tanh = to.apply("Tanh", {to.apply("Mul", {x, slope})});
  const std::string half = to.apply("Mul", {x, to.number(0.5F)});
  to.apply("Mul", {half, to.apply("Add", {tanh, to.number(1)})});
  to.finish();
}

void quick_gelu(Expanding &to) {
  const std::string scaled = to.apply("Mul", {to.input(0), to.number(to.real("alpha", 1.702F))});
  to.apply("Mul", {to.input(0), to.apply("Sigmoid", {scaled})});
  to.finish();
}

// Input, skip, gamma, beta, bias; the sum is result 3.
void skip_layer_norm(Expanding &to) {
  std::string sum = to.apply("Add", {to.input(0), to.input(1)});
  if (to.has(4))
    sum = to.apply("Add", {sum, to.input(4)});
  if (to.wants(3)) {
    to.apply("Identity", {sum});
    to.finish(3);
  }
  to.apply("LayerNormalization",
           to.has(3) ? Names{sum, to.input(2), to.input(3)} : Names{sum, to.input(2)});
  to.set_whole("axis", -1);
  to.set_real("epsilon", to.real("epsilon", 1e-12F));
  to.finish();
}

struct Row {
  std::string_view name;
  void (*expand)(Expanding &to);
  int results = 1; // up to this one are made
};

constexpr Row kRows[] = {
    {"BiasGelu", bias_gelu},       {"FastGelu", fast_gelu},
    {"FusedConv", fused_conv},     {"FusedGemm", fused_gemm},
    {"FusedMatMul", fused_matmul}, {"Gelu", gelu},
    {"QuickGelu", quick_gelu},     {"SkipLayerNormalization", skip_layer_norm, 4},
};

bool expand(const onnx::NodeProto &node, Nodes &to) {
  if (node.domain() != "com.microsoft" || node.output_size() < 1)
    return false;
  for (const Row &row : kRows) {
    if (node.op_type() != row.name || node.output_size() > row.results)
      continue;
    Expanding expanding(node, to);
    const bool has_other = expanding.flag("transBatchA") || expanding.flag("transBatchB") ||
                           (expanding.wants(1) || expanding.wants(2));
    if (has_other)
      return false;
    row.expand(expanding);
    return true;
  }
  return false;
}

} // namespace

void expand_fused_nodes(onnx::ModelProto &model) {
  Nodes result;
  for (const onnx::NodeProto &node : model.graph().node())
    if (!expand(node, result))
      *result.Add() = node;
  model.mutable_graph()->mutable_node()->Swap(&result);
}

} // namespace tilefuse::onnx_import
