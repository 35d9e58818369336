// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <string>

#include "base/error.h"
#include "layers.h"
#include "model/compile.h"
#include "model/passes.h"
#include "model/precision.h"
#include "poly/post_ops.h"
#include "program/host_tensor.h"
#include "target/device_rows.h"

namespace tilefuse::bench {
namespace {

using program::TensorId;

class LayerProgram {
public:
  LayerProgram(const Layer &layer, const tile::Library &ops) : layer_(layer), ops_(ops) {
    program_.name = layer.name;
  }
  program::Program build();

private:
  TensorId call(const char *function, std::vector<TensorId> args,
                const tile::Attributes &attributes = {}) {
    return ops_.instantiate(function, args, attributes, program_, function).at(0);
  }
  TensorId constant(program::Shape shape);
  TensorId image();
  tile::Attributes window() const;
  TensorId work(TensorId input);

  const Layer &layer_;
  const tile::Library &ops_;
  program::Program program_;
};

TensorId LayerProgram::constant(program::Shape shape) {
  program::HostTensor values = program::make_host_tensor("", DType::F32, shape);
  std::mt19937 engine(2);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int64_t i = 0; i < program::elems(shape); ++i)
    program::set(values, i, value(engine));
  return program_.add({.name = "constant",
                       .type = DType::F32,
                       .shape = std::move(shape),
                       .role = program::Role::Constant,
                       .data = std::make_shared<const program::Bytes>(std::move(values.data))});
}

// [batch, channels, height, width], channels last in memory.
TensorId LayerProgram::image() {
  const TensorId image =
      program_.add({.name = "x",
                    .type = DType::F32,
                    .shape = {layer_.batch, layer_.height, layer_.width, layer_.channels},
                    .role = program::Role::Input});
  program_.inputs = {image};
  return call("transpose4", {image},
              {{"A0", std::int64_t{0}},
               {"A1", std::int64_t{3}},
               {"A2", std::int64_t{1}},
               {"A3", std::int64_t{2}}});
}

tile::Attributes LayerProgram::window() const {
  return {{"SY", layer_.stride},       {"SX", layer_.stride},     {"DY", std::int64_t{1}},
          {"DX", std::int64_t{1}},     {"PY", layer_.pad},        {"PX", layer_.pad},
          {"OY", layer_.out_height()}, {"OX", layer_.out_width()}};
}

TensorId LayerProgram::work(TensorId input) {
  const auto biased = [&](TensorId sum) {
    return call("relu", {call("add", {sum, constant({1, layer_.outputs, 1, 1})})});
  };
  switch (layer_.kind) {
  case LayerKind::Conv:
  case LayerKind::Dense:
    return biased(
        call("conv2d",
             {input, constant({layer_.outputs, layer_.channels, layer_.kernel, layer_.kernel})},
             window()));
  case LayerKind::Depthwise:
    return biased(call("depthwise_conv2d",
                       {input, constant({layer_.channels, 1, layer_.kernel, layer_.kernel})},
                       window()));
  case LayerKind::MaxPool: {
    tile::Attributes attributes = window();
    attributes.emplace("KY", layer_.kernel);
    attributes.emplace("KX", layer_.kernel);
    return call("max_pool2d", {input}, attributes);
  }
  case LayerKind::AddChannel:
    return biased(input);
  }
  internal_error("a kind of layer without a program", __FILE__, __LINE__);
}

// Pooling and sums follow a convolution whose result has another reader, as in a network: it stays
// a tensor of its own, channels last. So does every result, because a probe reads it.
program::Program LayerProgram::build() {
  TensorId input = image();
  const bool follows = layer_.kind == LayerKind::MaxPool || layer_.kind == LayerKind::AddChannel;
  if (follows) {
    input = call("conv2d", {input, constant({layer_.channels, layer_.channels, 1, 1})},
                 {{"OY", layer_.height}, {"OX", layer_.width}});
    program_.outputs.push_back(call("reduce_probe", {input}));
  }
  program_.outputs.push_back(call("reduce_probe", {work(input)}));
  return std::move(program_);
}

} // namespace

std::vector<Target> bench_targets() { return builtin_targets(); }

tile::Library bench_library() {
  tile::Library ops = tile::operator_library();
  ops.add("function conv_channels_last(X[N, H, W, C], K[R, T, C, M]; S, P, OY, OX) -> (O) {"
          " O[n, y, x, m : N, OY, OX, M] = +(X[n, S*y + r - P, S*x + t - P, c] * K[r, t, c, m]); }",
          "bench");
  ops.add("function depthwise_channels_last(X[N, H, W, C], K[R, T, C]; S, P, OY, OX) -> (O) {"
          " O[n, y, x, c : N, OY, OX, C] = +(X[n, S*y + r - P, S*x + t - P, c] * K[r, t, c]); }",
          "bench");
  ops.add("function reduce_probe(X[N, C, H, W]) -> (O) { O[n, c : N, C] = >(X[n, c, y, x]); }",
          "bench");
  return ops;
}

program::Program layer_program(const Layer &layer, const tile::Library &ops) {
  return LayerProgram(layer, ops).build();
}

// The last probe reads the layer's result, so the kernel before it is the layer's.
static poly::Group group_before_probe(const program::Program &simple) {
  const std::vector<poly::PlacedGroup> groups = poly::make_groups(program::assign_storage(simple));
  TILEFUSE_CHECK(groups.size() >= 2, "a layer's program without a kernel before its probe");
  return groups[groups.size() - 2].group;
}

poly::Group layer_group(const Layer &layer, const tile::Library &ops) {
  return group_before_probe(model::simplify(layer_program(layer, ops)));
}

poly::Group layer_group(const Layer &layer, const tile::Library &ops, const std::string &precision,
                        const Target &target) {
  const auto applied = model::apply_precision(layer_program(layer, ops), precision, target);
  return group_before_probe(applied.is_simplified ? applied.program
                                                  : model::simplify(applied.program));
}

} // namespace tilefuse::bench
