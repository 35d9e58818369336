// SPDX-License-Identifier: Apache-2.0
// Convolution layers against oneDNN in one run, rounds interleaved: bench_conv [--layers NETWORK]
// [--rounds N] [--device cpu|opencl] [--threads N] [--only LAYER] [--group FILE] [--schedule FILE]
// [--show]. CSV: layer, our and its median in microseconds, ratio (its / ours), our 10th and 90th
// percentile, GFLOP/s, our kernel. A schedule from a file replaces the picked one, a group from a
// file the layer's: its form in a network, for example.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "cost/model.h"
#include "layers.h"
#include "onednn.h"
#include "paths.h"
#include "runtime/make_device.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/pick.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

struct Options {
  std::string network = "resnet50";
  int rounds = 30;
  std::string device = "cpu";
  int threads = 0;
  std::string only;
  std::string group;
  std::string schedule;
  bool show = false;
};

constexpr int kRunsPerRound = 3;
constexpr double kWarmSeconds = 300e-6; // before them: until threads that slept have woken

std::string read_text(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

schedule::Schedule schedule_of(const nest::Nest &nest, const Target &target,
                               const Options &options) {
  if (options.schedule.empty())
    return search::pick(nest, target);
  schedule::Schedule schedule =
      schedule::parse_schedule(nest, read_text(options.schedule), options.schedule);
  if (const std::optional<std::string> reason = schedule::illegal(nest, schedule, target))
    throw Error(ErrorCode::Unsupported, "the schedule is not legal: " + *reason, options.schedule);
  return schedule;
}

// Runs a few times after unrecorded ones, so that threads and caches are as in a stream of work.
template <typename Run> void record(Samples &samples, const Run &run) {
  for (double warm = 0; warm < kWarmSeconds;)
    warm += run();
  for (int i = 0; i < kRunsPerRound; ++i)
    samples.seconds.push_back(run());
}

// The peer's threads spin for a while after their work; ours would share the cores with them.
void let_peers_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

void run(const Options &options) {
  const tile::Library ops = bench_library();
  const std::unique_ptr<runtime::Device> device =
      runtime::make_device(options.device, options.threads, bench_targets());
  fmt::print("layer,ours_us,onednn_us,ratio,ours_p10_us,ours_p90_us,ours_gflops,kernel\n");
  double log_sum = 0;
  int layers = 0;
  for (const Layer &layer : layers_of(options.network)) {
    if (!options.only.empty() && layer.name != options.only)
      continue;
    const poly::Group group = options.group.empty()
                                  ? layer_group(layer, ops)
                                  : poly::parse_group(read_text(options.group), options.group);
    const schedule::Schedule schedule = schedule_of(group.anchor, device->target(), options);
    if (options.show)
      fmt::print("{}{}{}", to_text(group.anchor), to_text(group.anchor, schedule),
                 cost::explain(cost::predict(group.anchor, schedule, device->target())));
    TimedKernels ours_kernel(group, {schedule}, *device);
    OneDnnConv peer(layer);
    Samples ours, its;
    for (int round = 0; round < options.rounds; ++round) {
      record(its, [&] { return peer.run(); });
      let_peers_sleep();
      record(ours, [&] { return ours_kernel.run(0); });
    }
    const double ratio = its.at(0.5) / ours.at(0.5);
    fmt::print("{},{:.1f},{:.1f},{:.3f},{:.1f},{:.1f},{:.1f},{}\n", layer.name, ours.at(0.5) * 1e6,
               its.at(0.5) * 1e6, ratio, ours.at(0.1) * 1e6, ours.at(0.9) * 1e6,
               layer.flops() / ours.at(0.5) * 1e-9, ours_kernel.name(0));
    std::fflush(stdout);
    log_sum += std::log(ratio);
    ++layers;
  }
  fmt::print("geomean,,,{:.3f},,,,\n", std::exp(log_sum / std::max(1, layers)));
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  CLI::App app{"Convolution layers against oneDNN"};
  tilefuse::bench::Options options;
  app.add_option("--layers", options.network);
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--device", options.device);
  app.add_option("--threads", options.threads, "of ours; 0: one per core");
  app.add_option("--only", options.only);
  app.add_option("--group", options.group)->check(CLI::ExistingFile);
  app.add_option("--schedule", options.schedule)->check(CLI::ExistingFile);
  app.add_flag("--show", options.show, "print each nest, schedule and prediction");
  CLI11_PARSE(app, argc, argv);
  try {
    tilefuse::bench::run(options);
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "bench_conv: %s\n", error.what());
    return 2;
  }
}
