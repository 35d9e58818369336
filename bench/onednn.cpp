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

} // namespace

struct OneDnnConv::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::convolution_forward conv;
  std::unordered_map<int, dnnl::memory> args;
};

OneDnnConv::OneDnnConv(const Layer &layer) : state_(std::make_unique<State>()) {
  using dnnl::memory;
  const auto type = memory::data_type::f32;
  const auto any = memory::format_tag::any;
  const memory::desc source({1, layer.channels, layer.height, layer.width}, type, any);
  const bool grouped = layer.kind == LayerKind::Depthwise;
  const memory::dims filter =
      grouped ? memory::dims{layer.channels, 1, 1, layer.kernel, layer.kernel}
              : memory::dims{layer.outputs, layer.channels, layer.kernel, layer.kernel};
  const memory::desc weights(filter, type, any);
  const memory::desc bias({layer.outputs}, type, memory::format_tag::a);
  const memory::desc result({1, layer.outputs, layer.out_height(), layer.out_width()}, type, any);
  const memory::dims strides = {layer.stride, layer.stride};
  const memory::dims pads = {layer.pad, layer.pad};
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                             dnnl::algorithm::convolution_direct, source, weights,
                                             bias, result, strides, pads, pads);
  dnnl::post_ops ops;
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  const dnnl::convolution_forward::primitive_desc chosen(desc, attributes, state_->engine);
  state_->conv = dnnl::convolution_forward(chosen);
  state_->args = {{DNNL_ARG_SRC, memory(chosen.src_desc(), state_->engine)},
                  {DNNL_ARG_WEIGHTS, memory(chosen.weights_desc(), state_->engine)},
                  {DNNL_ARG_BIAS, memory(chosen.bias_desc(), state_->engine)},
                  {DNNL_ARG_DST, memory(chosen.dst_desc(), state_->engine)}};
  for (auto &[number, memory] : state_->args)
    fill_random(memory);
}

OneDnnConv::~OneDnnConv() = default;

double OneDnnConv::run() {
  const auto start = std::chrono::steady_clock::now();
  state_->conv.execute(state_->stream, state_->args);
  state_->stream.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace tilefuse::bench
