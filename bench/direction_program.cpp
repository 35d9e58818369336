// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <random>

#include "base/error.h"
#include "directions.h"
#include "program/gradient/gradient.h"

namespace tilefuse::bench {
namespace {

using program::HostTensor;
using program::TensorId;

HostTensor random_tensor(const std::string &name, const program::Shape &shape) {
  HostTensor tensor = program::make_host_tensor(name, DType::F32, shape);
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int64_t i = 0; i < program::elems(shape); ++i)
    program::set(tensor, i, value(engine));
  return tensor;
}

class Builder {
public:
  Builder(const tile::Library &ops, const std::string &name) : ops_(ops) { program_.name = name; }

  TensorId input(const std::string &name, program::Shape shape) {
    const TensorId id = program_.add({.name = name,
                                      .type = DType::F32,
                                      .shape = std::move(shape),
                                      .role = program::Role::Input});
    program_.inputs.push_back(id);
    return id;
  }
  TensorId constant(const std::string &name, program::Shape shape) {
    HostTensor values = random_tensor(name, shape);
    return program_.add({.name = name,
                         .type = DType::F32,
                         .shape = std::move(shape),
                         .role = program::Role::Constant,
                         .data = std::make_shared<const program::Bytes>(std::move(values.data))});
  }
  TensorId call(const char *function, const std::vector<TensorId> &args,
                const tile::Attributes &attributes) {
    return ops_.instantiate(function, args, attributes, program_, function).at(0);
  }
  program::Program &program() { return program_; }

private:
  const tile::Library &ops_;
  program::Program program_;
};

tile::Attributes window(const Layer &layer) {
  return {
      {"S", layer.stride}, {"P", layer.pad}, {"OY", layer.out_height()}, {"OX", layer.out_width()}};
}

} // namespace

Direction direction_of(const std::string &name) {
  if (name == "forward")
    return Direction::Forward;
  if (name == "data")
    return Direction::Data;
  if (name == "weights")
    return Direction::Weights;
  throw Error(ErrorCode::Unsupported,
              fmt::format("'{}' is no direction; there are forward, data and weights", name));
}

program::Program direction_program(const Layer &layer, Direction direction, std::int64_t batch,
                                   const tile::Library &ops) {
  if (layer.kind != LayerKind::Conv && layer.kind != LayerKind::Depthwise)
    throw Error(ErrorCode::Unsupported, fmt::format("'{}' is no convolution", layer.name));
  const bool grouped = layer.kind == LayerKind::Depthwise;
  Builder builder(ops, layer.name);
  const TensorId x = builder.input("x", {batch, layer.height, layer.width, layer.channels});
  program::Shape filter = {layer.kernel, layer.kernel, layer.channels, layer.outputs};
  if (grouped)
    filter.pop_back();
  const TensorId k =
      direction == Direction::Weights ? builder.input("k", filter) : builder.constant("k", filter);
  builder.program().outputs = {builder.call(
      grouped ? "depthwise_channels_last" : "conv_channels_last", {x, k}, window(layer))};
  if (direction == Direction::Forward)
    return builder.program();
  return program::gradient(builder.program(), {.by = {direction == Direction::Data ? x : k}});
}

OurDirection::OurDirection(const program::Program &program, runtime::Device &device)
    : cache_("", [](const std::string &) {}),
      session_(std::make_unique<model::Session>(program, device, cache_, model::SessionOptions{})) {
  std::vector<HostTensor> inputs;
  for (const HostTensor &form : session_->inputs())
    inputs.push_back(random_tensor(form.name, form.shape));
  session_->run(inputs);
}

} // namespace tilefuse::bench
