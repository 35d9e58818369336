// SPDX-License-Identifier: Apache-2.0
// The cost model's first choice beside the best of what tuning finds, over kernels of whole networks:
// bench_first_choices MODEL… [--device cuda] [--precision f16] [--batch N] [--gradient weights]
// [--kernels 120] [--kinds KIND,KIND] [--budget SECONDS] [--threads N] [--trials FOLDER]. Every
// network goes through the passes of a session; of its distinct kernels some are taken, evenly over
// the launches and as many of every network. Each gets the same time: candidates of search/tune.h
// are measured beside the choice in rounds, and what becomes the best is verified. CSV by kernel:
// device, network, kind, kernel, microseconds as predicted, of the first choice and of the best,
// candidates tried, those that were wrong, where the best comes from, and both schedules with ; for
// line ends. bench/model_accuracy.py sums it up. --trials keeps the groups and all that was tried;
// bench_first_choices --replay FOLDER prints it with today's predictions, without a clock: network,
// kind, group, predicted microseconds, time over that of the first choice then, schedule.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/read_file.h"
#include "cost/group_model.h"
#include "layers.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/differentiate.h"
#include "model/precision.h"
#include "model/tune/records.h"
#include "model/tune/tune_kernel.h"
#include "nest/index.h"
#include "onnx/import.h"
#include "poly/row_group.h"
#include "runtime/make_device.h"
#include "schedule/members.h"
#include "search/network/kept_choices.h"

namespace tilefuse::bench {
namespace {

using Clock = std::chrono::steady_clock;
using nest::IndexId;
using nest::Nest;

struct Options {
  std::vector<std::string> models;
  std::string device = "cpu";
  std::string precision; // of model/precision.h
  std::int64_t batch = 1;
  std::size_t kernels = 120;
  std::vector<std::string> kinds; // of kernels; none: all
  double budget = 300;            // seconds of measuring
  std::string gradient;           // of model/differentiate.h
  std::string trials;             // a folder for groups and records, or none
  std::string replay;             // such a folder
  int threads = 0;
};

struct Kernel {
  std::string network;
  poly::Group group;
};

// Whether an output index moves one factor of a sum of products and not the other, for each of them.
bool is_matrix_product(const Nest &nest) {
  const auto alone = [&](std::size_t mine, std::size_t other) {
    for (const IndexId index : nest::output_indices(nest))
      if (nest::extent(nest, index) > 1 && nest::moves(nest.inputs[mine], index) &&
          !nest::moves(nest.inputs[other], index))
        return true;
    return false;
  };
  return alone(0, 1) && alone(1, 0);
}

// Whether a subscript walks an output index and a reduced one.
bool has_window(const Nest &nest) {
  for (const nest::Dim &dim : nest.inputs.at(0).dims) {
    const auto walks = [&](IndexId index) { return dim.at.coeff[index] != 0; };
    if (std::ranges::any_of(nest::output_indices(nest), walks) &&
        std::ranges::any_of(nest::reduced_indices(nest), walks))
      return true;
  }
  return false;
}

std::string product_kind(const Nest &nest, const schedule::Schedule &schedule) {
  if (has_core(schedule))
    return is_wgmma(*schedule.core.op) ? "product by wgmma" : "product by mma";
  if (schedule.dot != nullptr)
    return "product by dot products";
  return is_matrix_product(nest) ? "product by multiply-adds" : "depthwise";
}

std::string kind_of(const poly::Group &group, const schedule::Schedule &schedule) {
  const Nest &nest = group.anchor;
  if (poly::has_rows(group))
    return "attention";
  if (nest.agg == program::Agg::Sum && nest.comb == program::Comb::Mul)
    return product_kind(nest, schedule);
  if (nest.agg == program::Agg::Assign)
    return poly::is_alone(group) ? "map" : "map with statistics";
  return has_window(nest) ? "pool" : "reduction";
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

// The folder of a model that is called as all others, else the file; what it is with gradients.
std::string name_of(const std::filesystem::path &model, const Options &options) {
  const std::filesystem::path named = model.stem() == "model" ? model.parent_path() : model;
  return named.stem().string() + (options.gradient.empty() ? "" : " gradient");
}

// Where a folder of --trials has them.
std::string records_path(const std::string &folder) {
  return folder.empty() ? "" : folder + "/records.sqlite";
}

constexpr std::string_view kGroupFile = ".group"; // its first line: network

void warn(const std::string &text) { std::fprintf(stderr, "%s\n", text.c_str()); }

bool is_wanted(const launch::Part &part, const Options &options) {
  const std::string kind = kind_of(part.placed.group, part.schedule);
  return options.kinds.empty() || std::ranges::count(options.kinds, kind) > 0;
}

// Distinct kernels of a network that `known` does not hold, in the order of launches.
std::vector<Kernel> kernels_of(const std::string &path, const tile::Library &ops,
                               const runtime::Device &device, const Options &options,
                               std::set<std::string> &known) {
  const onnx_import::Model model(path);
  program::Program program = model.program(ops, {.batch = options.batch});
  if (!options.gradient.empty())
    program = model::differentiate(program, options.gradient);
  const model::AppliedPrecision applied =
      model::apply_precision(program, options.precision, device.target());
  search::KeptChoices kept(nullptr, device.target());
  const model::Compiled compiled = model::choose_kernels(applied.program, device, kept,
                                                         {.is_simplified = applied.is_simplified});
  std::vector<Kernel> kernels;
  for (const model::CompiledLaunch &each : compiled.launches)
    for (const launch::Part &part : each.launch.parts)
      if (is_wanted(part, options) && known.insert(poly::to_text(part.placed.group)).second)
        kernels.push_back({name_of(path, options), part.placed.group});
  return kernels;
}

// `count` of them, as far apart as they can be.
void take_evenly(std::vector<Kernel> from, std::size_t count, std::vector<Kernel> &into) {
  count = std::min(count, from.size());
  for (std::size_t i = 0; i < count; ++i)
    into.push_back(std::move(from[i * from.size() / count]));
}

// Networks with few kernels leave their share to those behind them.
std::vector<Kernel> choose(const runtime::Device &device, const Options &options) {
  const tile::Library ops = bench_library();
  std::set<std::string> known;
  std::vector<std::vector<Kernel>> networks;
  for (const std::string &path : options.models)
    networks.push_back(kernels_of(path, ops, device, options, known));
  std::ranges::stable_sort(networks, {}, &std::vector<Kernel>::size);
  std::vector<Kernel> chosen;
  for (std::size_t n = 0; n < networks.size(); ++n) {
    const std::size_t left = options.kernels - std::min(options.kernels, chosen.size());
    take_evenly(std::move(networks[n]), left / (networks.size() - n), chosen);
  }
  return chosen;
}

void keep(const Kernel &kernel, const std::string &folder) {
  const std::string path =
      fmt::format("{}/{}{}", folder, model::group_key(kernel.group), kGroupFile);
  std::ofstream(path) << kernel.network << '\n' << poly::to_text(kernel.group);
}

Kernel kept_kernel(const std::string &path) {
  const std::string text = read_file(path);
  const std::size_t line = text.find('\n');
  if (line == std::string::npos)
    throw Error(ErrorCode::Io, "a group without its network", path);
  return {text.substr(0, line), poly::parse_group(text.substr(line + 1), path)};
}

void replay(const Kernel &kernel, runtime::RecordStore &records, const runtime::Device &device) {
  const Target &target = device.target();
  const std::string key = model::group_key(kernel.group);
  const auto print = [&](const schedule::Schedule &schedule, double ratio) {
    fmt::print("{},{},{},{:.2f},{:.4f},{}\n", kernel.network, kind_of(kernel.group, schedule), key,
               cost::predict(kernel.group, schedule, target).seconds * 1e6, ratio,
               one_line(schedule::to_text(kernel.group, schedule)));
  };
  std::string why;
  for (const runtime::Trial &trial :
       records.trials({key, model::device_key(device), std::string(lower::code_version())}))
    if (trial.state == runtime::Trial::State::Measured)
      if (const auto schedule = model::legal_schedule(kernel.group, trial.schedule, target, &why))
        print(*schedule, trial.ratio);
}

void replay(const std::string &folder, const runtime::Device &device) {
  runtime::RecordStore records(records_path(folder), runtime::RecordStore::Mode::Existing, warn);
  fmt::print("network,kind,group,predicted_us,ratio,schedule\n");
  for (const auto &file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == kGroupFile)
      replay(kept_kernel(file.path().string()), records, device);
}

class Bench {
public:
  Bench(runtime::Device &device, const Options &options)
      : device_(device), options_(options), emitter_(model::make_emitter(device.target())),
        pool_(available_threads()), cache_("", warn),
        records_(records_path(options.trials), runtime::RecordStore::Mode::Create, warn) {
    tuning_.warn = warn;
  }

  void run() {
    const std::vector<Kernel> kernels = choose(device_, options_);
    std::vector<std::unique_ptr<model::KernelTuner>> tuners(kernels.size());
    pool_.parallel_for(static_cast<std::int64_t>(kernels.size()), [&](int, std::int64_t i) {
      const auto k = static_cast<std::size_t>(i);
      tuners[k] = std::make_unique<model::KernelTuner>(kernels[k].group, device_.target());
    });
    fmt::print("device,network,kind,kernel,predicted_us,first_us,best_us,tried,wrong,source,first,"
               "best\n");
    const auto begun = Clock::now();
    const double each =
        options_.budget / static_cast<double>(std::max<std::size_t>(1, kernels.size()));
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      tune(*tuners[k], begun + std::chrono::duration<double>(each * static_cast<double>(k + 1)));
      print(kernels[k], *tuners[k]);
      if (!options_.trials.empty())
        keep(kernels[k], options_.trials);
      tuners[k].reset();
    }
  }

private:
  // At least a round, then rounds until the time is over.
  void tune(model::KernelTuner &tuner,
            std::chrono::time_point<Clock, std::chrono::duration<double>> until) {
    const model::Workshop shop = {device_, cache_, records_, *emitter_, pool_, tuning_};
    const auto round = static_cast<std::size_t>(std::max(kLeastRound, pool_.threads()));
    tuner.begin(shop);
    while (tuner.round(round, shop) && Clock::now() < until) {
    }
    tuner.finish(shop);
  }

  void print(const Kernel &kernel, const model::KernelTuner &tuner) const {
    const schedule::Schedule &first = tuner.model_choice();
    const model::TunedKernel report = tuner.report();
    fmt::print("{},{},{},{},{:.2f},{:.2f},{:.2f},{},{},{},{},{}\n", device_.target().name,
               kernel.network, kind_of(kernel.group, first), kernel.group.anchor.name,
               cost::predict(kernel.group, first, device_.target()).seconds * 1e6,
               tuner.model_seconds() * 1e6, tuner.best_seconds() * 1e6, tuner.tried(),
               tuner.wrong(), report.source, one_line(schedule::to_text(kernel.group, first)),
               one_line(schedule::to_text(kernel.group, tuner.best())));
    std::fflush(stdout);
  }

  static constexpr int kLeastRound = 10;
  runtime::Device &device_;
  const Options &options_;
  std::unique_ptr<emit::Emitter> emitter_;
  ThreadPool pool_;
  runtime::KernelCache cache_;
  runtime::RecordStore records_;
  model::TuneOptions tuning_;
};

int run_main(int argc, char **argv) {
  Options options;
  CLI::App app("The cost model's first choice beside the best that tuning finds");
  const auto models = app.add_option("model", options.models, "ONNX models");
  app.add_option("--device", options.device, "As of `tilefuse run`");
  app.add_option("--precision", options.precision, "f16, bf16 or tf32; as the model says");
  app.add_option("--batch", options.batch, "Binds a symbolic first dimension");
  app.add_option("--kernels", options.kernels, "How many, of all networks")
      ->check(CLI::PositiveNumber);
  app.add_option("--kinds", options.kinds, "Of these kinds alone, as the CSV names them")
      ->delimiter(',');
  app.add_option("--budget", options.budget, "Seconds of measuring")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Of the cpu device; 0: one per core");
  app.add_option("--gradient", options.gradient, "As of `tilefuse bench`: *, weights or names");
  app.add_option("--trials", options.trials, "A folder for all that is tried")
      ->check(CLI::ExistingDirectory);
  const auto kept = app.add_option("--replay", options.replay, "Predicts what such a folder has")
                        ->check(CLI::ExistingDirectory);
  models->excludes(kept);
  app.callback([&] {
    if (models->empty() && kept->empty())
      throw CLI::RequiredError("model");
  });
  CLI11_PARSE(app, argc, argv);
  try {
    const auto device = runtime::make_device(options.device, options.threads, bench_targets());
    if (options.replay.empty())
      Bench(*device, options).run();
    else
      replay(options.replay, *device);
  } catch (const Error &error) {
    std::fprintf(stderr, "bench_first_choices: %s\n", error.what());
    return 2;
  }
  return 0;
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) { return tilefuse::bench::run_main(argc, argv); }
