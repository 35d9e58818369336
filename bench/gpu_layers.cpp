// SPDX-License-Identifier: Apache-2.0
// ResNet-50's convolutions and their gradients on a GPU, or another list's (`--list odd`,
// gpu_odd.h), each way side by side, rounds interleaved; or random convolutions, checked (`--check
// COUNT`, gpu_check.h).
//
// Every launch is measured with the second-level cache flushed: 256 MB are set before it, and the
// device's clock runs from the first kernel's start to the last one's end. `--graph`: the same
// kernels many times in one graph instead, what they read in the cache. bench/cudnn_layers.py
// measures its peer in the same two forms.
//
// Prints CSV: layer, batch, direction, way, schedule, median, 10th and 90th percentile in
// microseconds, TFLOP/s, predicted microseconds, and the largest error of sampled results as a
// share of what rounding allows (empty for tensors too large to check in time).
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/error.h"
#include "gpu_check.h"
#include "gpu_odd.h"
#include "gpu_run.h"
#include "layers.h"
#include "runtime/make_device.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

constexpr std::int64_t kFlushBytes = 256 << 20;
constexpr int kGraphRuns = 50;
constexpr int kWarmUps = 3;
constexpr double kSlow = 20e-3; // seconds
constexpr std::size_t kSlowRounds = 3;
constexpr std::int64_t kLargestChecked = std::int64_t{1} << 26; // elements of all buffers

struct Options {
  std::string device = "cuda";
  std::string list = "resnet50";
  std::int64_t batch = 1;
  int rounds = 15;
  std::string type = "f16";
  std::string direction = "forward";
  std::string epilogue = "plain";
  std::vector<std::string> ways = {"picked"};
  std::vector<std::string> only;
  bool graph = false;
  bool blocks = false;
  int check = 0;
  bool wgmma = false;
  bool clusters = false;
  bool windows = false;
  bool gathers = false;
  bool ahead = false;
  bool maps = false;
  bool parts = false;
  bool lists = false;
  std::uint64_t seed = 1;
};

Direction direction_of(const std::string &name) {
  for (const Direction direction :
       {Direction::Forward, Direction::InputGradient, Direction::FilterGradient})
    if (to_string(direction) == name)
      return direction;
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("got direction '{}', need forward, input_gradient or filter_gradient", name));
}

Epilogue epilogue_of(const std::string &name) {
  if (name != "plain" && name != "relu" && name != "full")
    throw Error(ErrorCode::Unsupported,
                fmt::format("got epilogue '{}', need plain, relu or full", name));
  return name == "plain" ? Epilogue::Plain : (name == "relu" ? Epilogue::Relu : Epilogue::Full);
}

DType type_of(const std::string &name) {
  const std::optional<DType> type = parse_dtype(name == "tf32" ? "f32" : name);
  if (!type)
    throw Error(ErrorCode::Type, fmt::format("there is no type '{}'", name));
  return *type;
}

std::vector<ConvProblem> problems_of(const Options &options) {
  std::vector<ConvProblem> problems;
  if (options.list == "odd")
    problems = odd_problems();
  else
    for (const Layer &layer : layers_of(options.list))
      problems.push_back({.name = layer.name,
                          .channels = layer.channels,
                          .height = layer.height,
                          .width = layer.width,
                          .outputs = layer.outputs,
                          .taps_y = layer.kernel,
                          .taps_x = layer.kernel,
                          .stride = layer.stride,
                          .pad = layer.pad});
  for (ConvProblem &problem : problems) {
    problem.batch = options.batch;
    problem.type = type_of(options.type);
    problem.tf32 = options.type == "tf32";
    problem.epilogue = epilogue_of(options.epilogue);
    problem.in_blocks = options.blocks;
  }
  return problems;
}

struct LayerJob {
  ConvProblem problem;
  Work work;
  std::vector<Way> ways;
};

// Rounds over all ways; slow ones take part in the first few.
class Clock {
public:
  Clock(runtime::Device &device, bool graph)
      : device_(device), graph_(graph), flush_(device.allocate(kFlushBytes)) {}

  void rounds(std::vector<Way> &ways, int count) {
    for (int round = 0; round < kWarmUps + count; ++round)
      for (Way &way : ways) {
        const bool is_slow = !way.seconds.empty() && way.seconds.front() > kSlow;
        if (way.launchables.empty() || (is_slow && way.seconds.size() >= kSlowRounds))
          continue;
        const double seconds = graph_ ? of_graph(way) : flushed(way);
        if (round >= kWarmUps)
          way.seconds.push_back(seconds);
      }
  }

private:
  double flushed(const Way &way) {
    device_.fill_zero({flush_.get(), 0, kFlushBytes});
    return device_.time_all(way.launches(), false);
  }

  double of_graph(const Way &way) {
    const std::vector<runtime::Launchable *> once = way.launches();
    std::vector<runtime::Launchable *> all;
    for (int run = 0; run < kGraphRuns; ++run)
      all.insert(all.end(), once.begin(), once.end());
    device_.launch_all(all); // records
    return device_.time_all(all, true) / kGraphRuns;
  }

  runtime::Device &device_;
  const bool graph_;
  std::unique_ptr<runtime::Memory> flush_;
};

void report(const LayerJob &job, const Options &options, const Way &way, const std::string &error) {
  const std::string begin =
      fmt::format("{},{},{},{}", job.problem.name, options.batch, options.direction, way.name);
  if (way.launchables.empty()) {
    fmt::print("{},,,,,,,\"{}\"\n", begin, way.refusal);
    return;
  }
  const Samples samples{way.seconds};
  fmt::print("{},{},{:.2f},{:.2f},{:.2f},{:.1f},{:.2f},{}\n", begin, way.schedule_text(),
             samples.at(0.5) * 1e6, samples.at(0.1) * 1e6, samples.at(0.9) * 1e6,
             job.problem.flops() / samples.at(0.5) * 1e-12, way.predicted_seconds * 1e6, error);
}

std::string error_text(const LayerJob &job, WorkData &data, const Way &way) {
  std::int64_t elems = 0;
  for (const program::Buffer &buffer : job.work.stored.buffers)
    elems += buffer.elems;
  if (elems > kLargestChecked || way.launchables.empty())
    return {};
  double share = 0;
  const std::optional<std::string> wrong = data.check(way, share);
  return wrong ? fmt::format("\"WRONG: {}\"", *wrong) : fmt::format("{:.3f}", share);
}

// How many ways are wrong.
int measure(LayerJob &job, const Options &options, runtime::Device &device, Clock &clock) {
  WorkData data(job.work, device);
  for (Way &way : job.ways)
    if (!way.packages.empty())
      data.load(way);
  clock.rounds(job.ways, options.rounds);
  int wrong = 0;
  for (Way &way : job.ways) {
    const std::string error = error_text(job, data, way);
    wrong += error.starts_with("\"WRONG") ? 1 : 0;
    report(job, options, way, error);
    way.launchables.clear();
    way.packed.clear();
  }
  std::fflush(stdout);
  return wrong;
}

int time_layers(const Options &options, runtime::Device &device) {
  fmt::print("# {}, {}, {}, {}, {}\n", device.name(), device.target().name,
             options.type + (options.blocks ? " in blocks" : ""), options.epilogue,
             std::string(options.graph ? "in a graph" : "cache flushed") +
                 (options.list == "resnet50" ? "" : " list " + options.list));
  fmt::print("layer,batch,direction,way,schedule,us,p10_us,p90_us,tflops,predicted_us,error\n");
  std::vector<LayerJob> jobs;
  for (const ConvProblem &problem : problems_of(options)) {
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), problem.name) == options.only.end())
      continue;
    if (options.blocks && problem.channels % 32 != 0)
      continue;
    jobs.push_back(
        {problem, work_of(problem, direction_of(options.direction), device.target()), {}});
    for (const std::string &way : options.ways)
      jobs.back().ways.push_back(make_way(jobs.back().work, way, device.target()));
  }
  std::vector<Way *> ways;
  for (LayerJob &job : jobs)
    for (Way &way : job.ways)
      ways.push_back(&way);
  build(ways, device);
  Clock clock(device, options.graph);
  int wrong = 0;
  for (LayerJob &job : jobs)
    wrong += measure(job, options, device, clock);
  return wrong;
}

int run(int argc, char **argv) {
  CLI::App app("times ResNet-50's convolutions on a GPU, or checks random ones");
  Options options;
  app.add_option("--device", options.device);
  app.add_option("--list", options.list, "resnet50, squeezenet, first_layers, … or odd");
  app.add_option("--batch", options.batch);
  app.add_option("--rounds", options.rounds);
  app.add_option("--type", options.type, "f16, bf16, f32, tf32 or i8");
  app.add_option("--direction", options.direction, "forward, input_gradient or filter_gradient");
  app.add_option("--epilogue", options.epilogue, "plain, relu or full");
  app.add_option("--ways", options.ways, "picked, core#1, mma, igemm, …")->delimiter(',');
  app.add_option("--only", options.only, "layers")->delimiter(',');
  app.add_flag("--graph", options.graph, "many launches in a graph, nothing flushed");
  app.add_flag("--blocks", options.blocks, "channels in blocks of 32 (NCHW32), i8 only");
  app.add_option("--check", options.check, "check so many random convolutions instead");
  app.add_flag("--wgmma", options.wgmma, "check schedules with wgmma instead of those with mma");
  app.add_flag("--clusters", options.clusters, "check those with wgmma on clusters of blocks");
  app.add_flag("--windows", options.windows, "check those with wgmma whose taps read one window");
  app.add_flag("--gathers", options.gathers, "check those with wgmma whose data warps gather");
  app.add_flag("--ahead", options.ahead, "check those with wgmma that fetch residuals ahead");
  app.add_flag("--maps", options.maps, "check kernels whose first input a map computes");
  app.add_flag("--parts", options.parts, "check those in parts that blocks of a cluster join");
  app.add_flag("--cases", options.lists, "print every case that is checked before it runs");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  const auto device = runtime::make_device(options.device, 0, bench_targets());
  if (options.check == 0)
    return time_layers(options, *device) == 0 ? 0 : 1;
  const CheckRequest request{.count = options.check,
                             .seed = options.seed,
                             .type = type_of(options.type),
                             .tf32 = options.type == "tf32",
                             .wgmma = options.wgmma || options.clusters || options.parts ||
                                      options.windows || options.gathers || options.ahead,
                             .clusters = options.clusters,
                             .parts = options.parts,
                             .windows = options.windows,
                             .gathers = options.gathers,
                             .ahead = options.ahead,
                             .blocks = options.blocks,
                             .maps = options.maps,
                             .lists = options.lists,
                             .direction = direction_of(options.direction)};
  return check_random(request, *device) == 0 ? 0 : 1;
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  try {
    return tilefuse::bench::run(argc, argv);
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "bench_gpu_layers: %s\n", error.what());
    return 2;
  }
}
