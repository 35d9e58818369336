// SPDX-License-Identifier: Apache-2.0
// Convolution layers against oneDNN in one run, rounds interleaved: bench_conv [squeezenet|resnet50] [rounds] [cpu|opencl].
// Prints CSV: layer, our and its median in microseconds, ratio (its / ours), our 10th and 90th percentile, GFLOP/s.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "layers.h"
#include "model/model.h"
#include "onednn.h"
#include "tile/tile.h"

namespace tilefuse::bench {
namespace {

program::TensorId random_constant(program::Program& program, program::Shape shape) {
  program::HostTensor values = program::make_host_tensor("", DType::F32, shape);
  std::mt19937 engine(2);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int64_t i = 0; i < program::elems(shape); ++i) program::set(values, i, value(engine));
  return program.add({.name = "constant",
                      .type = DType::F32,
                      .shape = shape,
                      .role = program::Role::Constant,
                      .data = std::make_shared<const program::Bytes>(std::move(values.data))});
}

// relu(conv(x) + b) on an input that is channels-last in memory, as inside a network.
program::Program layer_program(const Layer& layer, const tile::Library& ops) {
  program::Program program;
  program.name = layer.name;
  const program::TensorId image = program.add({.name = "x",
                                               .type = DType::F32,
                                               .shape = {1, layer.height, layer.width, layer.channels},
                                               .role = program::Role::Input});
  program.inputs = {image};
  const auto call = [&](const char* function, std::vector<program::TensorId> args,
                        const tile::Attributes& attributes) {
    return ops.instantiate(function, args, attributes, program, function).at(0);
  };
  const program::TensorId input =
      call("transpose4", {image}, {{"A0", std::int64_t{0}}, {"A1", std::int64_t{3}},
                                   {"A2", std::int64_t{1}}, {"A3", std::int64_t{2}}});
  const program::TensorId weights =
      random_constant(program, {layer.outputs, layer.channels, layer.kernel, layer.kernel});
  const program::TensorId product =
      call("conv2d", {input, weights},
           {{"SY", layer.stride}, {"SX", layer.stride}, {"DY", std::int64_t{1}}, {"DX", std::int64_t{1}},
            {"PY", layer.pad}, {"PX", layer.pad}, {"OY", layer.out_height()}, {"OX", layer.out_width()}});
  const program::TensorId bias = random_constant(program, {1, layer.outputs, 1, 1});
  const program::TensorId sum = call("add", {product, bias}, {});
  // A second reader of the result keeps it channels-last, as it would be inside a network.
  const program::TensorId active = call("relu", {sum}, {});
  program.outputs = {call("reduce_probe", {active}, {})};
  return program;
}

struct Samples {
  std::vector<double> seconds;
  double at(double share) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
  }
};

double largest_kernel(model::Session& session) {
  double flops = 0;
  double seconds = 0;
  for (const model::KernelReport& kernel : session.profile())
    if (kernel.flops > flops) flops = kernel.flops, seconds = kernel.seconds;
  return seconds;
}

void run(const std::string& network, int rounds, const std::string& device_name) {
  tile::Library ops = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  ops.add("function reduce_probe(X[N, C, H, W]) -> (O) { O[n, c : N, C] = >(X[n, c, y, x]); }", "bench");
  const std::unique_ptr<runtime::Device> device =
      device_name == "cpu" ? runtime::make_cpu_device(0)
                           : runtime::make_opencl_device(device_name, read_targets(TILEFUSE_SOURCE_DIR "/devices"));
  runtime::KernelCache cache("", [](const std::string&) {});
  std::printf("layer,ours_us,onednn_us,ratio,ours_p10_us,ours_p90_us,ours_gflops\n");
  double log_sum = 0;
  int layers = 0;
  for (const Layer& layer : network == "resnet50" ? resnet50_layers() : squeezenet_layers()) {
    model::Session session(layer_program(layer, ops), *device, cache, {});
    OneDnnConv peer(layer);
    Samples ours, its;
    for (int round = 0; round < rounds; ++round) {
      its.seconds.push_back(peer.run());
      ours.seconds.push_back(largest_kernel(session));
    }
    const double ratio = its.at(0.5) / ours.at(0.5);
    fmt::print("{},{:.1f},{:.1f},{:.3f},{:.1f},{:.1f},{:.1f}\n", layer.name, ours.at(0.5) * 1e6,
               its.at(0.5) * 1e6, ratio, ours.at(0.1) * 1e6, ours.at(0.9) * 1e6,
               layer.flops() / ours.at(0.5) * 1e-9);
    std::fflush(stdout);
    log_sum += std::log(ratio);
    ++layers;
  }
  fmt::print("geomean,,,{:.3f},,,\n", std::exp(log_sum / layers));
}

}  // namespace
}  // namespace tilefuse::bench

int main(int argc, char** argv) {
  try {
    tilefuse::bench::run(argc > 1 ? argv[1] : "squeezenet", argc > 2 ? std::atoi(argv[2]) : 30,
                         argc > 3 ? argv[3] : "cpu");
  } catch (const tilefuse::Error& error) {
    std::fprintf(stderr, "bench_conv: %s\n", error.what());
    return 2;
  }
}
