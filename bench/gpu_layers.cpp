// SPDX-License-Identifier: Apache-2.0
// ResNet-50's convolutions on a GPU, once per named algorithm and as picked, rounds interleaved:
// bench_gpu_layers [batch] [rounds] [device] [algorithm,algorithm,…] [type]. `core#3` is the third
// schedule with matrix instructions by predicted time. Prints CSV: layer, batch,
// algorithm, median, 10th and 90th percentile in microseconds, GFLOP/s, share of the target's peak,
// predicted microseconds, largest relative error of sampled outputs against double precision.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
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
#include "schedule/core.h"
#include "schedule/core_forms.h"
#include "schedule/staging.h"
#include "search/pick.h"

namespace tilefuse::bench {
namespace {

using schedule::Schedule;
using Bytes = std::vector<std::byte>;

constexpr int kSampledOutputs = 500;
constexpr int kWarmUps = 3;
constexpr double kSlow = 20e-3; // seconds
constexpr std::size_t kSlowRounds = 3;
constexpr const char *kAlgorithms =
    "picked,igemm,pointwise,first_layer,ilpm,direct,direct_cached,plaidml";

// The nest of a layer, channels last, filter [m][c][r][s].
nest::Nest layer_nest(const Layer &layer, std::int64_t batch, DType type) {
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
      "  slot 0 {} {}, 1 {} {}, 2 {} {}\n  acc f32 = sum mul\n"
      "  in 0 + 0 [n:{}*{}, {}, {}, c:{}*1]\n"
      "  in 1 + 0 const [m:{}*{}, c:{}*{}, r:{}*{}, s:{}*1]\n"
      "  out 2 + 0 [n:{}*{}, y:{}*{}, x:{}*{}, m:{}*1]\n  post max(acc, 0)\n}}\n",
      batch, rows, columns, layer.outputs, layer.channels, layer.kernel, layer.kernel,
      to_string(type), batch * layer.height * layer.width * layer.channels, to_string(type),
      layer.outputs * layer.channels * taps, to_string(type),
      batch * rows * columns * layer.outputs, batch, layer.height * layer.width * layer.channels,
      window("y", "r", layer.height, layer.width * layer.channels),
      window("x", "s", layer.width, layer.channels), layer.channels, layer.outputs,
      layer.channels * taps, layer.channels, taps, layer.kernel, layer.kernel, layer.kernel, batch,
      rows * columns * layer.outputs, rows, columns * layer.outputs, columns, layer.outputs,
      layer.outputs));
}

// Random numbers in [-1, 1), the same again after kPeriod of them.
Bytes random_values(std::int64_t elems, DType type, unsigned seed) {
  constexpr std::int64_t kPeriod = 1048573;
  std::mt19937 engine(seed);
  const auto size = static_cast<std::size_t>(size_bytes(type));
  Bytes bytes(static_cast<std::size_t>(elems) * size);
  for (std::int64_t i = 0; i < std::min(elems, kPeriod); ++i)
    store_element(bytes.data(), type, i, static_cast<float>(engine()) * 0x1p-31F - 1.0F);
  const std::size_t period = static_cast<std::size_t>(kPeriod) * size;
  for (std::size_t i = period; i < bytes.size(); i += period)
    std::memcpy(bytes.data() + i, bytes.data(), std::min(period, bytes.size() - i));
  return bytes;
}

// One output in double precision, and the sum of the products' sizes.
struct Expected {
  std::int64_t at = 0; // element of the output
  double value = 0;
  double size = 1e-30;
};

std::vector<Expected> sampled_outputs(const Layer &layer, std::int64_t batch, DType type,
                                      const Bytes &input, const Bytes &filter) {
  const auto at = [&](const Bytes &bytes, std::int64_t i) {
    return load_element(bytes.data(), type, i);
  };
  std::mt19937 engine(3);
  std::vector<Expected> outputs(kSampledOutputs);
  for (Expected &output : outputs) {
    const auto draw = [&](std::int64_t count) {
      return static_cast<std::int64_t>(engine() % static_cast<unsigned>(count));
    };
    const std::int64_t n = draw(batch), y = draw(layer.out_height()), x = draw(layer.out_width());
    const std::int64_t m = draw(layer.outputs);
    output.at = ((n * layer.out_height() + y) * layer.out_width() + x) * layer.outputs + m;
    for (std::int64_t r = 0; r < layer.kernel; ++r)
      for (std::int64_t s = 0; s < layer.kernel; ++s) {
        const std::int64_t row = y * layer.stride + r - layer.pad;
        const std::int64_t column = x * layer.stride + s - layer.pad;
        if (row < 0 || row >= layer.height || column < 0 || column >= layer.width)
          continue;
        for (std::int64_t c = 0; c < layer.channels; ++c) {
          const std::int64_t pixel = (n * layer.height + row) * layer.width + column;
          const std::int64_t weight =
              ((m * layer.channels + c) * layer.kernel + r) * layer.kernel + s;
          const double product = at(input, pixel * layer.channels + c) * at(filter, weight);
          output.value += product;
          output.size += std::abs(product);
        }
      }
    output.value = std::max(output.value, 0.0);
  }
  return outputs;
}

// Largest error of the outputs, relative to the sum of the products' sizes.
double largest_error(const std::vector<Expected> &expected, DType type, const Bytes &got) {
  double worst = 0;
  for (const Expected &output : expected) {
    const double error =
        std::abs(load_element(got.data(), type, output.at) - output.value) / output.size;
    if (std::isnan(error))
      return error;
    worst = std::max(worst, error);
  }
  return worst;
}

// A layer under one algorithm.
struct Job {
  std::string algorithm;
  std::string refusal;
  std::optional<Schedule> schedule;
  Package package;
  std::unique_ptr<runtime::Memory> packed;
  std::unique_ptr<runtime::Launchable> launchable;
  std::vector<double> seconds;
};

struct LayerJobs {
  Layer layer;
  DType type{};
  nest::Nest nest;
  std::vector<Job> jobs;
};

std::optional<Schedule> ranked_core(const nest::Nest &nest, const Target &target,
                                    std::size_t place) {
  std::vector<std::pair<double, Schedule>> ranked;
  for (Schedule &schedule : schedule::core_schedules(nest, target, false))
    ranked.emplace_back(cost::predict(nest, schedule, target).seconds, std::move(schedule));
  if (place < 1 || place > ranked.size())
    return {};
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first; });
  return ranked[place - 1].second;
}

Job make_job(const nest::Nest &nest, const std::string &algorithm, const Target &target) {
  Job job;
  job.algorithm = algorithm;
  if (algorithm == "picked") {
    job.schedule = search::pick(nest, target);
    job.algorithm += ":" + job.schedule->name;
  } else if (algorithm.starts_with("core#")) {
    job.schedule = ranked_core(nest, target, std::stoul(algorithm.substr(5)));
    job.refusal = job.schedule ? "" : "there are not so many";
  } else {
    schedule::NamedSchedule named = schedule::named_schedule(algorithm, nest, target);
    job.schedule = std::move(named.schedule);
    job.refusal = std::move(named.refusal);
  }
  if (job.schedule && schedule::has_core(*job.schedule)) {
    const schedule::CoreTile tile = core_tile(nest, *job.schedule);
    job.algorithm +=
        fmt::format(":{}x{}x{}r{}", tile.rows, tile.columns, tile.depth, job.schedule->core.ring);
  }
  if (job.schedule)
    job.package = emit::make_emitter(target, nullptr)
                      ->emit(lower::lower({nest}, *job.schedule, target), target);
  return job;
}

// Builds what can be built; a kernel that cannot says so in its job.
void build(std::vector<LayerJobs> &all, runtime::Device &device) {
  std::vector<Job *> jobs;
  std::vector<Package> packages;
  for (LayerJobs &layer : all)
    for (Job &job : layer.jobs)
      if (job.schedule) {
        jobs.push_back(&job);
        packages.push_back(job.package);
      }
  try {
    packages = device.build(std::move(packages));
    for (std::size_t i = 0; i < jobs.size(); ++i)
      jobs[i]->package = std::move(packages[i]);
  } catch (const Error &) {
    for (Job *job : jobs) {
      try {
        job->package = device.build({job->package}).front();
      } catch (const Error &error) {
        job->refusal = error.message();
        job->schedule.reset();
      }
    }
  }
}

// Memory of a layer: input, filter and output.
class LayerData {
public:
  LayerData(const LayerJobs &jobs, std::int64_t batch, runtime::Device &device)
      : jobs_(jobs), device_(device) {
    for (unsigned slot = 0; slot < 2; ++slot)
      bytes_.push_back(random_values(jobs.nest.slots[slot].elems, jobs.type, slot + 1));
    const auto out_bytes =
        static_cast<std::size_t>(jobs.nest.slots[2].elems * size_bytes(jobs.type));
    bytes_.emplace_back(out_bytes, std::byte{0xff}); // not numbers
    for (const Bytes &bytes : bytes_)
      memory_.push_back(write(bytes));
    expected_ = sampled_outputs(jobs.layer, batch, jobs.type, bytes_[0], bytes_[1]);
  }

  void load(Job &job) {
    std::vector<runtime::Binding> bindings;
    for (const schedule::KernelArg &arg : kernel_args(jobs_.nest, *job.schedule)) {
      if (arg.slot < 0)
        job.packed = write(model::pack(jobs_.nest, *job.schedule, arg.packed_input, bytes_[1]));
      const runtime::Memory &memory =
          arg.slot < 0 ? *job.packed : *memory_[static_cast<std::size_t>(arg.slot)];
      bindings.push_back({const_cast<runtime::Memory *>(&memory), 0, memory.bytes()});
    }
    job.launchable = device_.load(job.package, bindings);
  }

  double error_of(Job &job) {
    const runtime::Binding out = {memory_[2].get(), 0, memory_[2]->bytes()};
    device_.write(out, bytes_[2]);
    device_.launch(*job.launchable);
    Bytes got(bytes_[2].size());
    device_.read(out, got);
    return largest_error(expected_, jobs_.type, got);
  }

private:
  std::unique_ptr<runtime::Memory> write(const Bytes &bytes) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    std::unique_ptr<runtime::Memory> memory = device_.allocate(size);
    device_.write({memory.get(), 0, size}, bytes);
    return memory;
  }

  const LayerJobs &jobs_;
  runtime::Device &device_;
  std::vector<Bytes> bytes_;
  std::vector<std::unique_ptr<runtime::Memory>> memory_;
  std::vector<Expected> expected_;
};

// Rounds over all algorithms of a layer; slow kernels take part in the first few.
void time_rounds(LayerJobs &layer, runtime::Device &device, int rounds) {
  for (int round = 0; round < kWarmUps + rounds; ++round)
    for (Job &job : layer.jobs) {
      const bool is_slow = !job.seconds.empty() && job.seconds.front() > kSlow;
      if (!job.launchable || (is_slow && job.seconds.size() >= kSlowRounds))
        continue;
      runtime::Launchable *const kernels[] = {job.launchable.get()};
      const double seconds = device.time_each(kernels).front();
      if (round >= kWarmUps)
        job.seconds.push_back(seconds);
    }
}

void report(const LayerJobs &layer, std::int64_t batch, Job &job, const Target &target,
            LayerData &data) {
  if (!job.launchable) {
    fmt::print("{},{},{},,,,,,,{}\n", layer.layer.name, batch, job.algorithm, job.refusal);
    return;
  }
  std::sort(job.seconds.begin(), job.seconds.end());
  const auto share = [&](double part) {
    return job.seconds[static_cast<std::size_t>(part *
                                                static_cast<double>(job.seconds.size() - 1))] *
           1e6;
  };
  const double gflops = layer.layer.flops() * static_cast<double>(batch) / share(0.5) * 1e-3;
  fmt::print("{},{},{},{:.2f},{:.2f},{:.2f},{:.0f},{:.3f},{:.2f},{:.2e}\n", layer.layer.name, batch,
             job.algorithm, share(0.5), share(0.1), share(0.9), gflops,
             gflops / (target.gflops_per_unit * target.compute_units),
             cost::predict(layer.nest, *job.schedule, target).seconds * 1e6, data.error_of(job));
}

void measure(LayerJobs &layer, std::int64_t batch, int rounds, runtime::Device &device) {
  LayerData data(layer, batch, device);
  for (Job &job : layer.jobs)
    if (job.schedule)
      data.load(job);
  time_rounds(layer, device, rounds);
  for (Job &job : layer.jobs) {
    report(layer, batch, job, device.target(), data);
    job.launchable.reset();
    job.packed.reset();
  }
  std::fflush(stdout);
}

std::vector<std::string> split(const std::string &names) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    all.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

void run(std::int64_t batch, int rounds, const std::string &selector, const std::string &algorithms,
         DType type) {
  const std::unique_ptr<runtime::Device> device =
      runtime::make_device(selector, 0, bench_targets());
  fmt::print("# {}, {}\n", device->name(), device->target().name);
  fmt::print("layer,batch,algorithm,us,p10_us,p90_us,gflops,share_of_peak,predicted_us,error\n");
  std::vector<LayerJobs> all;
  for (const Layer &layer : layers_of("resnet50")) {
    all.push_back({layer, type, layer_nest(layer, batch, type), {}});
    for (const std::string &algorithm : split(algorithms.empty() ? kAlgorithms : algorithms))
      all.back().jobs.push_back(make_job(all.back().nest, algorithm, device->target()));
  }
  build(all, *device);
  for (LayerJobs &layer : all)
    measure(layer, batch, rounds, *device);
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  try {
    tilefuse::bench::run(
        argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? std::atoi(argv[2]) : 20,
        argc > 3 ? argv[3] : "opencl", argc > 4 ? argv[4] : "",
        tilefuse::parse_dtype(argc > 5 ? argv[5] : "f32").value_or(tilefuse::DType::F32));
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "bench_gpu_layers: %s\n", error.what());
    return 2;
  }
}
