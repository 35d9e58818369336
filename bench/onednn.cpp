// SPDX-License-Identifier: Apache-2.0
#include "onednn.h"

#include <chrono>
#include <dnnl.hpp>
#include <random>
#include <unordered_map>

namespace tilefuse::bench {
namespace {

void fill_random(dnnl::memory &memory) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> value(-1, 1);
  float *data = static_cast<float *>(memory.get_data_handle());
  for (std::size_t i = 0; i < memory.get_desc().get_size() / 4; ++i)
    data[i] = value(engine);
}

// Descriptions of a convolution's tensors, layouts left to oneDNN.
struct Shapes {
  Shapes(const Layer &layer, std::int64_t batch)
      : source({batch, layer.channels, layer.height, layer.width}, kType, kAny),
        weights(filter(layer), kType, kAny),
        bias({layer.outputs}, kType, dnnl::memory::format_tag::a),
        result({batch, layer.outputs, layer.out_height(), layer.out_width()}, kType, kAny),
        strides{layer.stride, layer.stride}, pads{layer.pad, layer.pad} {}

  static dnnl::memory::dims filter(const Layer &layer) {
    if (layer.kind == LayerKind::Depthwise)
      return {layer.channels, 1, 1, layer.kernel, layer.kernel};
    return {layer.outputs, layer.channels, layer.kernel, layer.kernel};
  }

  static constexpr auto kType = dnnl::memory::data_type::f32;
  static constexpr auto kAny = dnnl::memory::format_tag::any;
  static constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  dnnl::memory::desc source, weights, bias, result;
  dnnl::memory::dims strides, pads;
};

} // namespace

struct OneDnnConv::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive conv;
  std::unordered_map<int, dnnl::memory> args;

  dnnl::memory memory(const dnnl::memory::desc &desc) const { return {desc, engine}; }
};

void OneDnnConv::fill() {
  for (auto &[number, memory] : state_->args)
    fill_random(memory);
}

OneDnnConv::OneDnnConv(const Layer &layer) : state_(std::make_unique<State>()) {
  State &s = *state_;
  const Shapes shapes(layer, 1);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, Shapes::kDirect, shapes.source, shapes.weights,
      shapes.bias, shapes.result, shapes.strides, shapes.pads, shapes.pads);
  dnnl::post_ops ops;
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  const dnnl::convolution_forward::primitive_desc chosen(desc, attributes, s.engine);
  s.conv = dnnl::convolution_forward(chosen);
  s.args = {{DNNL_ARG_SRC, s.memory(chosen.src_desc())},
            {DNNL_ARG_WEIGHTS, s.memory(chosen.weights_desc())},
            {DNNL_ARG_BIAS, s.memory(chosen.bias_desc())},
            {DNNL_ARG_DST, s.memory(chosen.dst_desc())}};
  fill();
}

OneDnnConv::OneDnnConv(const Layer &layer, Direction direction, std::int64_t batch)
    : state_(std::make_unique<State>()) {
  State &s = *state_;
  const Shapes shapes(layer, batch);
  const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, Shapes::kDirect,
                                                shapes.source, shapes.weights, shapes.result,
                                                shapes.strides, shapes.pads, shapes.pads);
  const dnnl::convolution_forward::primitive_desc hint(forward, s.engine);
  if (direction == Direction::Forward) {
    s.conv = dnnl::convolution_forward(hint);
    s.args = {{DNNL_ARG_SRC, s.memory(hint.src_desc())},
              {DNNL_ARG_WEIGHTS, s.memory(hint.weights_desc())},
              {DNNL_ARG_DST, s.memory(hint.dst_desc())}};
  } else if (direction == Direction::Data) {
    const dnnl::convolution_backward_data::desc desc(Shapes::kDirect, shapes.source, shapes.weights,
                                                     shapes.result, shapes.strides, shapes.pads,
                                                     shapes.pads);
    const dnnl::convolution_backward_data::primitive_desc chosen(desc, s.engine, hint);
    s.conv = dnnl::convolution_backward_data(chosen);
    s.args = {{DNNL_ARG_DIFF_SRC, s.memory(chosen.diff_src_desc())},
              {DNNL_ARG_WEIGHTS, s.memory(chosen.weights_desc())},
              {DNNL_ARG_DIFF_DST, s.memory(chosen.diff_dst_desc())}};
  } else {
    const dnnl::convolution_backward_weights::desc desc(Shapes::kDirect, shapes.source,
                                                        shapes.weights, shapes.result,
                                                        shapes.strides, shapes.pads, shapes.pads);
    const dnnl::convolution_backward_weights::primitive_desc chosen(desc, s.engine, hint);
    s.conv = dnnl::convolution_backward_weights(chosen);
    s.args = {{DNNL_ARG_SRC, s.memory(chosen.src_desc())},
              {DNNL_ARG_DIFF_WEIGHTS, s.memory(chosen.diff_weights_desc())},
              {DNNL_ARG_DIFF_DST, s.memory(chosen.diff_dst_desc())}};
  }
  fill();
}

OneDnnConv::~OneDnnConv() = default;

double OneDnnConv::run() {
  const auto start = std::chrono::steady_clock::now();
  state_->conv.execute(state_->stream, state_->args);
  state_->stream.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace tilefuse::bench
