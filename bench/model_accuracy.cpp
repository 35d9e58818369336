// SPDX-License-Identifier: Apache-2.0
// The cost model against the clock: bench_model_accuracy [--device cpu|opencl|…] [--layers NETWORK]
// [--precision TYPE] [--batch N] [--only LAYER] [--top N] [--ranked N] [--samples N] [--rounds N] [--finals N] [--limit-ms T]
// [--threads N] [--together N] [--never-ms T] [--warm-ms T] [--replay CSV]. For each layer it times
// the model's first choices, schedules spread over the search's ranking and random legal schedules,
// in interleaved rounds on random data, and prints CSV: device, layer, origin (top, ranked or
// sample), predicted and measured microseconds, 10th and 90th percentile, the schedule with ; for
// line ends.
// --finals times the first choice and so many of the fastest again, side by side: the least of many
// times is by luck too small, and the first of a layer runs before clocks are up.
// Schedules that take longer than the limit are left out; those predicted to take longer than
// --never-ms are not even started, because nothing can end a kernel on a GPU. --replay predicts
// again what a CSV of the same device holds, without a clock.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "base/random.h"
#include "cost/model.h"
#include "layers.h"
#include "paths.h"
#include "runtime/make_device.h"
#include "schedule/text.h"
#include "search/pick.h"
#include "search/sample.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

struct Options {
  std::string device = "cpu";
  std::string network = "kinds";
  std::string precision; // of model/precision.h
  std::int64_t batch = 1;
  std::string only;
  std::string replay;
  std::size_t top = 3;
  std::size_t ranked = 6;
  std::size_t samples = 30;
  int rounds = 5;
  std::size_t finals = 0;
  double limit_ms = 100;
  double never_ms = 1e9;
  double warm_ms = 0;        // of running the first kernel, until clocks are up
  std::size_t together = 12; // kernels built and timed together
  int threads = 0;
  std::uint64_t seed = 1;
};

struct Entry {
  std::string origin;
  schedule::Schedule schedule;
  double predicted = 0; // seconds
  Samples measured = {};
};

constexpr double kShort = 2e-3; // seconds; such kernels run several times a round
constexpr int kShortRuns = 3;
constexpr std::size_t kAllCandidates = 100000;

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

class Entries {
public:
  Entries(const nest::Nest &nest, const Target &target) : nest_(nest), target_(target) {}

  void add(const std::string &origin, const schedule::Schedule &schedule) {
    schedule::Schedule unnamed = schedule;
    unnamed.name.clear();
    if (seen_.insert(to_text(nest_, unnamed)).second)
      all_.push_back({origin, schedule, cost::predict(nest_, schedule, target_).seconds, {}});
  }
  std::vector<Entry> take() { return std::move(all_); }

private:
  const nest::Nest &nest_;
  const Target &target_;
  std::set<std::string> seen_;
  std::vector<Entry> all_;
};

std::vector<Entry> choose(const nest::Nest &nest, const Target &target, const Options &options) {
  Entries entries(nest, target);
  const std::vector<search::Candidate> ranking = search::candidates(nest, target, kAllCandidates);
  for (std::size_t i = 0; i < std::min(options.top, ranking.size()); ++i)
    entries.add("top", ranking[i].schedule);
  for (std::size_t i = 0; i < options.ranked; ++i)
    entries.add("ranked", ranking[(i + 1) * (ranking.size() - 1) / options.ranked].schedule);
  Random random(options.seed);
  for (std::size_t i = 0; i < options.samples; ++i)
    if (const auto schedule = search::sample(nest, target, random))
      entries.add("sample", *schedule);
  return entries.take();
}

void warm_up(TimedKernels &kernels, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds)
    kernels.run(0);
}

// Times kernels in interleaved rounds; those over the limit are run once and left without samples.
std::vector<Samples> time_all(TimedKernels &kernels, const Options &options) {
  std::vector<Samples> samples(kernels.size());
  std::vector<double> first(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    first[k] = kernels.run(k);
    if (first[k] < options.limit_ms * 1e-3)
      first[k] = kernels.run(k);
  }
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (first[k] >= options.limit_ms * 1e-3)
        continue;
      if (first[k] < kShort)
        kernels.run(k);
      for (int i = 0; i < (first[k] < kShort ? kShortRuns : 1); ++i)
        samples[k].seconds.push_back(kernels.run(k));
    }
  return samples;
}

void time_together(std::span<Entry *const> entries, const poly::Group &group,
                   runtime::Device &device, const Options &options) {
  std::vector<schedule::Schedule> schedules;
  for (const Entry *entry : entries)
    schedules.push_back(entry->schedule);
  TimedKernels kernels(group, schedules, device);
  warm_up(kernels, options.warm_ms * 1e-3);
  std::vector<Samples> samples = time_all(kernels, options);
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i]->measured = std::move(samples[i]);
}

// The first choice and the fastest others.
std::vector<Entry *> finalists(std::vector<Entry> &entries, std::size_t count) {
  std::vector<Entry *> others;
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (!entries[i].measured.seconds.empty())
      others.push_back(&entries[i]);
  std::sort(others.begin(), others.end(), [](const Entry *a, const Entry *b) {
    return a->measured.at(0.5) < b->measured.at(0.5);
  });
  others.resize(std::min(others.size(), count));
  others.insert(others.begin(), &entries.front());
  return others;
}

void measure_layer(const Layer &layer, const poly::Group &group, runtime::Device &device,
                   const Options &options) {
  std::vector<Entry> entries = choose(group.anchor, device.target(), options);
  const std::size_t hopeless = std::erase_if(
      entries, [&](const Entry &entry) { return entry.predicted > options.never_ms * 1e-3; });
  if (hopeless > 0)
    fmt::print(stderr, "{}: {} schedules not started\n", layer.name, hopeless);
  std::vector<Entry *> all;
  for (Entry &entry : entries)
    all.push_back(&entry);
  for (std::size_t begin = 0; begin < all.size(); begin += options.together)
    time_together(std::span(all).subspan(begin, std::min(options.together, all.size() - begin)),
                  group, device, options);
  if (options.finals > 0)
    time_together(finalists(entries, options.finals), group, device, options);
  for (const Entry &entry : entries)
    if (const Samples &at = entry.measured; !at.seconds.empty())
      fmt::print("{},{},{},{:.2f},{:.2f},{:.2f},{:.2f},{}\n", device.target().name, layer.name,
                 entry.origin, entry.predicted * 1e6, at.at(0.5) * 1e6, at.at(0.1) * 1e6,
                 at.at(0.9) * 1e6, one_line(to_text(group.anchor, entry.schedule)));
  std::fflush(stdout);
}

std::vector<Layer> layers_of(const Options &options) {
  std::vector<Layer> layers = bench::layers_of(options.network);
  std::erase_if(layers, [&](const Layer &layer) {
    return !options.only.empty() && layer.name != options.only;
  });
  for (Layer &layer : layers)
    layer.batch = options.batch;
  return layers;
}

void measure(const Options &options, const tile::Library &ops, runtime::Device &device) {
  for (const Layer &layer : layers_of(options))
    measure_layer(layer, layer_group(layer, ops, options.precision, device.target()), device,
                  options);
}

std::vector<std::string> cells_of(const std::string &line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

void replay(const Options &options, const tile::Library &ops, const Target &target) {
  std::map<std::string, poly::Group> groups;
  for (const Layer &layer : layers_of(options))
    groups.emplace(layer.name, layer_group(layer, ops, options.precision, target));
  std::ifstream file(options.replay);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 8)
      throw Error(ErrorCode::Io, fmt::format("a line of {} cells, need 8", cells.size()),
                  options.replay);
    if (!groups.contains(cells[1]))
      continue;
    std::replace(cells[7].begin(), cells[7].end(), ';', '\n');
    const nest::Nest &nest = groups.at(cells[1]).anchor;
    const schedule::Schedule schedule = schedule::parse_schedule(nest, cells[7]);
    cells[3] = fmt::format("{:.2f}", cost::predict(nest, schedule, target).seconds * 1e6);
    cells[7] = one_line(cells[7]);
    fmt::print("{}\n", fmt::join(cells, ","));
  }
}

void run(const Options &options) {
  const tile::Library ops = bench_library();
  const std::unique_ptr<runtime::Device> device =
      runtime::make_device(options.device, options.threads, bench_targets());
  fmt::print("device,layer,origin,predicted_us,measured_us,p10_us,p90_us,schedule\n");
  if (options.replay.empty())
    measure(options, ops, *device);
  else
    replay(options, ops, device->target());
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  CLI::App app{"The cost model against the clock"};
  tilefuse::bench::Options options;
  app.add_option("--device", options.device);
  app.add_option("--layers", options.network);
  app.add_option("--precision", options.precision);
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--only", options.only);
  app.add_option("--replay", options.replay)->check(CLI::ExistingFile);
  app.add_option("--top", options.top);
  app.add_option("--ranked", options.ranked);
  app.add_option("--samples", options.samples);
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--finals", options.finals);
  app.add_option("--limit-ms", options.limit_ms);
  app.add_option("--never-ms", options.never_ms);
  app.add_option("--warm-ms", options.warm_ms);
  app.add_option("--together", options.together)->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "of the cpu device; 0: one per core");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  try {
    tilefuse::bench::run(options);
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "bench_model_accuracy: %s\n", error.what());
    return 2;
  }
}
