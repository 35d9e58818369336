// SPDX-License-Identifier: Apache-2.0
// Convolutions forward and backward, on our devices and by oneDNN, in one run with interleaved
// rounds: bench_directions [--layers NETWORK] [--only LAYER] [--directions forward,data,weights]
// [--devices cpu,opencl] [--batch N] [--rounds N] [--no-peer] [--show]. CSV: layer, direction,
// kernels, per device its median in microseconds and GFLOP/s, oneDNN's median, oneDNN's time over
// that of the first device, the first device's time over that of each other one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "directions.h"
#include "onednn.h"
#include "runtime/make_device.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

struct Options {
  std::string network = "resnet50";
  std::string only;
  std::vector<std::string> directions = {"forward", "data", "weights"};
  std::vector<std::string> devices = {"cpu"};
  std::int64_t batch = 8;
  int rounds = 10;
  bool no_peer = false;
  bool show = false;
};

// The peer's threads spin for a while after their work; ours would share the cores with them.
void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

template <typename Run> void record(Samples &samples, const Run &run) {
  run();
  for (int i = 0; i < 2; ++i)
    samples.seconds.push_back(run());
  let_threads_sleep();
}

class Bench {
public:
  explicit Bench(const Options &options) : options_(options), ops_(bench_library()) {
    for (const std::string &name : options.devices)
      devices_.push_back(runtime::make_device(name, 0, bench_targets()));
  }
  void run();

private:
  void layer(const Layer &layer, const std::string &direction);
  void summary(const std::string &direction);

  const Options &options_;
  tile::Library ops_;
  std::vector<std::unique_ptr<runtime::Device>> devices_;
  std::vector<double> log_ratios_; // sums: peer over first, then first over each other device
  int count_ = 0;
};

void Bench::layer(const Layer &layer, const std::string &direction) {
  const Direction way = direction_of(direction);
  const program::Program program = direction_program(layer, way, options_.batch, ops_);
  std::vector<std::unique_ptr<OurDirection>> ours;
  for (const auto &device : devices_)
    ours.push_back(std::make_unique<OurDirection>(program, *device));
  std::unique_ptr<OneDnnConv> peer;
  if (!options_.no_peer)
    peer = std::make_unique<OneDnnConv>(layer, way, options_.batch);
  std::vector<Samples> samples(ours.size());
  Samples its;
  for (int round = 0; round < options_.rounds; ++round) {
    if (peer)
      record(its, [&] { return peer->run(); });
    for (std::size_t d = 0; d < ours.size(); ++d)
      record(samples[d], [&] { return ours[d]->run(); });
  }
  const double flops = layer.flops() * static_cast<double>(options_.batch);
  const double first = samples[0].at(0.5);
  std::vector<double> ratios = {peer ? its.at(0.5) / first : 0};
  std::string row = fmt::format("{},{},{}", layer.name, direction, ours[0]->kernels());
  for (const Samples &sample : samples)
    row += fmt::format(",{:.1f},{:.1f}", sample.at(0.5) * 1e6, flops / sample.at(0.5) * 1e-9);
  row += fmt::format(",{:.1f},{:.3f}", peer ? its.at(0.5) * 1e6 : 0, ratios[0]);
  for (std::size_t d = 1; d < samples.size(); ++d) {
    ratios.push_back(first / samples[d].at(0.5));
    row += fmt::format(",{:.3f}", ratios.back());
  }
  fmt::print("{}\n", row);
  if (options_.show)
    for (const model::KernelReport &kernel : ours[0]->profile())
      fmt::print("  {:9.1f} us  {}\n", kernel.seconds * 1e6, kernel.name);
  std::fflush(stdout);
  log_ratios_.resize(ratios.size(), 0);
  for (std::size_t r = 0; r < ratios.size(); ++r)
    log_ratios_[r] += std::log(ratios[r]);
  ++count_;
}

void Bench::summary(const std::string &direction) {
  std::string row = fmt::format("geomean,{},", direction);
  for (std::size_t d = 0; d < devices_.size(); ++d)
    row += ",,";
  row += ",";
  for (double sum : log_ratios_)
    row += fmt::format(",{:.3f}", std::exp(sum / std::max(1, count_)));
  fmt::print("{}\n", row);
  log_ratios_.clear();
  count_ = 0;
}

void Bench::run() {
  std::string header = "layer,direction,kernels";
  for (const std::string &device : options_.devices)
    header += fmt::format(",{}_us,{}_gflops", device, device);
  header += ",onednn_us,onednn_over_" + options_.devices[0];
  for (std::size_t d = 1; d < options_.devices.size(); ++d)
    header += fmt::format(",{}_over_{}", options_.devices[0], options_.devices[d]);
  fmt::print("{}\n", header);
  for (const std::string &direction : options_.directions) {
    for (const Layer &one : layers_of(options_.network))
      if (options_.only.empty() || one.name == options_.only)
        layer(one, direction);
    summary(direction);
  }
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  CLI::App app{"Convolutions forward and backward"};
  tilefuse::bench::Options options;
  app.add_option("--layers", options.network);
  app.add_option("--only", options.only);
  app.add_option("--directions", options.directions)->delimiter(',');
  app.add_option("--devices", options.devices)->delimiter(',');
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_flag("--no-peer", options.no_peer, "without oneDNN");
  app.add_flag("--show", options.show, "list the kernels of the first device");
  CLI11_PARSE(app, argc, argv);
  try {
    tilefuse::bench::Bench(options).run();
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "bench_directions: %s\n", error.what());
    return 2;
  }
}
