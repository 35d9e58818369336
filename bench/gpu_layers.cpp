// SPDX-License-Identifier: Apache-2.0
// ResNet-50's convolutions on an OpenCL device, once per named algorithm and as picked:
// bench_gpu_layers [batch] [rounds] [device] [algorithm,algorithm,…]. Prints CSV: layer, batch,
// algorithm, median, 10th and 90th percentile in microseconds, GFLOP/s, share of the target's peak,
// predicted microseconds, largest relative error of sampled outputs against double precision.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "cost/model.h"
#include "emit/emitter.h"
#include "layers.h"
#include "lower/pipeline.h"
#include "model/pack.h"
#include "paths.h"
#include "runtime/device.h"
#include "schedule/algorithms.h"
#include "schedule/staging.h"
#include "search/pick.h"

namespace tilefuse::bench {
namespace {

using schedule::Schedule;
using Bytes = std::vector<std::byte>;

constexpr int kSampledOutputs = 500;
constexpr int kWarmUps = 3;

// The nest of a layer, channels last, filter [m][c][r][s].
nest::Nest layer_nest(const Layer &layer, std::int64_t batch) {
  const bool pads = layer.pad > 0;
  const auto window = [&](const char *point, const char *tap, std::int64_t size,
                          std::int64_t stride) {
    return fmt::format("{}*{} + {} - {}:{}{}*{}", layer.stride, point, tap, layer.pad, size,
                       pads ? "?" : "", stride);
  };
  const std::int64_t rows = layer.out_height(), columns = layer.out_width();
  const std::int64_t taps = layer.kernel * layer.kernel;
  return nest::parse_nest(fmt::format(
      "nest conv {{\n  index n {}, y {}, x {}, m {} | c {}, r {}, s {}\n"
      "  slot 0 f32 {}, 1 f32 {}, 2 f32 {}\n  acc f32 = sum mul\n"
      "  in 0 + 0 [n:{}*{}, {}, {}, c:{}*1]\n"
      "  in 1 + 0 const [m:{}*{}, c:{}*{}, r:{}*{}, s:{}*1]\n"
      "  out 2 + 0 [n:{}*{}, y:{}*{}, x:{}*{}, m:{}*1]\n  post max(acc, 0)\n}}\n",
      batch, rows, columns, layer.outputs, layer.channels, layer.kernel, layer.kernel,
      batch * layer.height * layer.width * layer.channels, layer.outputs * layer.channels * taps,
      batch * rows * columns * layer.outputs, batch, layer.height * layer.width * layer.channels,
      window("y", "r", layer.height, layer.width * layer.channels),
      window("x", "s", layer.width, layer.channels), layer.channels, layer.outputs,
      layer.channels * taps, layer.channels, taps, layer.kernel, layer.kernel, layer.kernel, batch,
      rows * columns * layer.outputs, rows, columns * layer.outputs, columns, layer.outputs,
      layer.outputs));
}

Bytes random_floats(std::int64_t elems, unsigned seed) {
  std::mt19937 engine(seed);
  Bytes bytes(static_cast<std::size_t>(elems) * sizeof(float));
  for (std::int64_t i = 0; i < elems; ++i) {
    const float value = static_cast<float>(engine()) * 0x1p-31F - 1.0F;
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

float at(const Bytes &bytes, std::int64_t i) {
  float value = 0;
  std::memcpy(&value, bytes.data() + 4 * i, 4);
  return value;
}

// Largest error of sampled outputs, relative to the sum of the products' sizes.
double sampled_error(const Layer &layer, std::int64_t batch, const std::vector<Bytes> &slots) {
  std::mt19937 engine(3);
  double worst = 0;
  for (int sample = 0; sample < kSampledOutputs; ++sample) {
    const auto draw = [&](std::int64_t count) {
      return static_cast<std::int64_t>(engine() % static_cast<unsigned>(count));
    };
    const std::int64_t n = draw(batch), y = draw(layer.out_height()), x = draw(layer.out_width());
    const std::int64_t m = draw(layer.outputs);
    double sum = 0, size = 1e-30;
    for (std::int64_t r = 0; r < layer.kernel; ++r)
      for (std::int64_t s = 0; s < layer.kernel; ++s) {
        const std::int64_t row = y * layer.stride + r - layer.pad;
        const std::int64_t column = x * layer.stride + s - layer.pad;
        if (row < 0 || row >= layer.height || column < 0 || column >= layer.width)
          continue;
        for (std::int64_t c = 0; c < layer.channels; ++c) {
          const double product =
              static_cast<double>(
                  at(slots[0],
                     ((n * layer.height + row) * layer.width + column) * layer.channels + c)) *
              at(slots[1], ((m * layer.channels + c) * layer.kernel + r) * layer.kernel + s);
          sum += product;
          size += std::abs(product);
        }
      }
    const std::int64_t out =
        ((n * layer.out_height() + y) * layer.out_width() + x) * layer.outputs + m;
    worst = std::max(worst, std::abs(at(slots[2], out) - std::max(sum, 0.0)) / size);
  }
  return worst;
}

struct Result {
  std::vector<double> seconds; // sorted
  double error = 0;
};

Result measure(runtime::Device &device, const Layer &layer, std::int64_t batch, int rounds,
               const nest::Nest &nest, const Schedule &schedule) {
  const Target &target = device.target();
  const Package source =
      emit::make_emitter(target, nullptr)->emit(lower::lower({nest}, schedule, target), target);
  const Package built = device.build({source}).front();
  std::vector<Bytes> slots = {random_floats(nest.slots[0].elems, 1),
                              random_floats(nest.slots[1].elems, 2),
                              Bytes(static_cast<std::size_t>(nest.slots[2].elems) * 4)};
  std::vector<std::unique_ptr<runtime::Memory>> memory;
  std::vector<runtime::Binding> bindings;
  std::size_t out = 0;
  for (const schedule::KernelArg &arg : kernel_args(nest, schedule)) {
    const Bytes bytes = arg.slot >= 0 ? slots[static_cast<std::size_t>(arg.slot)]
                                      : model::pack(nest, schedule, arg.packed_input, slots[1]);
    if (arg.slot == nest.out.slot)
      out = bindings.size();
    const auto size = static_cast<std::int64_t>(bytes.size());
    memory.push_back(device.allocate(size));
    bindings.push_back({memory.back().get(), 0, size});
    device.write(bindings.back(), bytes);
  }
  const auto launchable = device.load(built, bindings);
  runtime::Launchable *const kernels[] = {launchable.get()};
  Result result;
  for (int round = 0; round < kWarmUps + rounds; ++round) {
    const double seconds = device.time_each(kernels).front();
    if (round >= kWarmUps)
      result.seconds.push_back(seconds);
  }
  device.read(bindings[out], slots[2]);
  std::sort(result.seconds.begin(), result.seconds.end());
  result.error = sampled_error(layer, batch, slots);
  return result;
}

void report(runtime::Device &device, const Layer &layer, std::int64_t batch, int rounds,
            const std::string &algorithm) {
  const Target &target = device.target();
  const nest::Nest nest = layer_nest(layer, batch);
  schedule::NamedSchedule named = {{}, {}};
  if (algorithm == "picked")
    named.schedule = search::pick(nest, target);
  else
    named = schedule::named_schedule(algorithm, nest, target);
  if (!named.schedule) {
    fmt::print("{},{},{},,,,,,,{}\n", layer.name, batch, algorithm, named.refusal);
    return;
  }
  const std::string name = algorithm == "picked" ? "picked:" + named.schedule->name : algorithm;
  const Result result = measure(device, layer, batch, rounds, nest, *named.schedule);
  const auto share = [&](double part) {
    return result.seconds[static_cast<std::size_t>(
               part * static_cast<double>(result.seconds.size() - 1))] *
           1e6;
  };
  const double gflops = layer.flops() * static_cast<double>(batch) / share(0.5) * 1e-3;
  fmt::print("{},{},{},{:.2f},{:.2f},{:.2f},{:.0f},{:.3f},{:.2f},{:.2e}\n", layer.name, batch, name,
             share(0.5), share(0.1), share(0.9), gflops,
             gflops / (target.gflops_per_unit * target.compute_units),
             cost::predict(nest, *named.schedule, target).seconds * 1e6, result.error);
  std::fflush(stdout);
}

void run(std::int64_t batch, int rounds, const std::string &selector, std::string algorithms) {
  const std::unique_ptr<runtime::Device> device =
      runtime::make_device(selector, 0, bench_targets());
  fmt::print("# {}, {}\n", device->name(), device->target().name);
  fmt::print("layer,batch,algorithm,us,p10_us,p90_us,gflops,share_of_peak,predicted_us,error\n");
  if (algorithms.empty())
    algorithms = "picked,igemm,pointwise,first_layer,ilpm,direct,direct_cached,plaidml";
  for (const Layer &layer : layers_of("resnet50"))
    for (std::size_t begin = 0; begin < algorithms.size();) {
      const std::size_t end = std::min(algorithms.find(',', begin), algorithms.size());
      const std::string algorithm = algorithms.substr(begin, end - begin);
      begin = end + 1;
      try {
        report(*device, layer, batch, rounds, algorithm);
      } catch (const Error &error) {
        fmt::print("{},{},{},,,,,,,{}\n", layer.name, batch, algorithm, error.message());
      }
    }
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  try {
    tilefuse::bench::run(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? std::atoi(argv[2]) : 20,
                         argc > 3 ? argv[3] : "opencl", argc > 4 ? argv[4] : "");
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "bench_gpu_layers: %s\n", error.what());
    return 2;
  }
}
