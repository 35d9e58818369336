// SPDX-License-Identifier: Apache-2.0
// What stands before a first kernel on the compiler's side: bench_planning MODEL… [--target ROW]…
// [--precision f32|f16|bf16|tf32|int8]… [--fuse LEVEL]… [--batch N] [--quota N] [--build]
// [--choices]. A network is simplified once. For each of these it is laid out, fused, split and
// scheduled as by a session without a cache, for a row of devices/, so that no device is needed,
// and CSV is printed: seconds by the clock and of all threads, kernels, packages, the microseconds
// that all kernels are predicted to take, and the hash of all choices.
// --build lowers and emits the kernels too and compiles those of CUDA by NVRTC. --choices prints
// every group and schedule instead. In int8 every tensor is taken to range from -1 to 1.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/stopwatch.h"
#include "cost/group_model.h"
#include "model/compile.h"
#include "model/passes.h"
#include "onnx/import.h"
#include "paths.h"
#include "program/precision/precision.h"
#include "schedule/members.h"
#include "search/network/kept_choices.h"
#include "target/device_rows.h"
#include "target_device.h"

namespace tilefuse::bench {
namespace {

struct Options {
  std::vector<std::string> models;
  std::vector<std::string> targets = {"cuda_sm90"};
  std::vector<std::string> precisions = {"f32"};
  std::vector<std::string> levels = {"pointwise"};
  std::int64_t batch = 1;
  std::int64_t quota = search::FusionSettings().quota;
  bool build = false;
  bool choices = false;
};

struct Network {
  std::string path;
  onnx_import::Model model;
  program::Program simple;
};

program::Program simplified(const onnx_import::Model &model, const Options &options) {
  return model::simplify(model.program(tile::operators(), {.batch = options.batch}));
}

program::Program in_int8(const onnx_import::Model &model, const Options &options) {
  const onnx_import::Model folded = model.with_folded_weights(tile::operators());
  const onnx_import::RoundingPlan plan = folded.plan_rounding({});
  std::map<std::string, program::Range> ranges;
  for (const std::string &value : plan.values)
    ranges[value] = {-1, 1};
  return simplified(folded.quantized(plan, ranges), options);
}

program::Program in_precision(const Network &network, const std::string &precision,
                              const Options &options) {
  if (precision == "f32" || precision == "tf32") {
    program::Program program = network.simple;
    program.tf32 = precision == "tf32";
    return program;
  }
  if (precision == "int8")
    return in_int8(network.model, options);
  return program::with_precision(network.simple, *parse_dtype(precision)).program;
}

std::string choices(const model::Compiled &compiled) {
  std::string all;
  for (const model::CompiledLaunch &each : compiled.launches) {
    for (const launch::Part &part : each.launch.parts)
      all += fmt::format("{}\n{}{}", part.placed.origin, poly::to_text(part.placed.group),
                         schedule::to_text(part.placed.group, part.schedule));
    all += fmt::format("launch of {}\n", each.launch.parts.size());
  }
  return all;
}

double predicted_seconds(const model::Compiled &compiled, const Target &target) {
  double seconds = 0;
  for (const model::CompiledLaunch &each : compiled.launches)
    for (const launch::Part &part : each.launch.parts)
      seconds += cost::predict(part.placed.group, part.schedule, target).seconds;
  return seconds;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The folder of a model that is called as all others, else the file.
std::string name_of(const std::filesystem::path &model) {
  return model.stem() == "model" ? model.parent_path().filename().string() : model.stem().string();
}

void plan(const Network &network, const Options &options, const Target &target) {
  for (const std::string &precision : options.precisions)
    for (const std::string &level : options.levels) {
      TargetDevice device(target);
      runtime::KernelCache cache("", [](const std::string &) {});
      search::KeptChoices kept(&cache, target);
      const model::SessionOptions session = {
          .fusion = {*poly::parse_fuse_level(level), options.quota}, .is_simplified = true};
      const program::Program given = in_precision(network, precision, options);
      const double begin = cpu_seconds();
      const model::Compiled compiled = options.build
                                           ? model::compile(given, device, cache, session)
                                           : model::choose_kernels(given, device, kept, session);
      const double spent = cpu_seconds() - begin;
      const std::string text = choices(compiled);
      if (options.choices) {
        fmt::print("{}", text);
        continue;
      }
      fmt::print("{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{},{},{:.1f},{}\n",
                 name_of(network.path), precision, level, target.name, options.batch,
                 compiled.seconds.choose, compiled.seconds.emit, compiled.seconds.build, spent,
                 compiled.launches.size(), compiled.built,
                 predicted_seconds(compiled, target) * 1e6, content_hash(text).substr(0, 12));
      std::fflush(stdout);
    }
}

void run(const Options &options) {
  if (!options.choices)
    fmt::print("network,precision,fuse,target,batch,choose_s,emit_s,build_s,cpu_s,kernels,built,"
               "predicted_us,choices\n");
  for (const std::string &path : options.models) {
    onnx_import::Model model(path);
    const program::Program simple = simplified(model, options);
    const Network network{path, std::move(model), simple};
    for (const std::string &target : options.targets)
      plan(network, options, find_target(TILEFUSE_SOURCE_DIR "/devices", target));
  }
}

int run_main(int argc, char **argv) {
  Options options;
  CLI::App app("Times what is decided before a network's kernels are built");
  app.add_option("model", options.models, "ONNX models")->required();
  app.add_option("--target", options.targets, "Rows of devices/");
  app.add_option("--precision", options.precisions)
      ->check(CLI::IsMember({"f32", "f16", "bf16", "tf32", "int8"}));
  app.add_option("--fuse", options.levels)->check(CLI::IsMember({"none", "pointwise", "all"}));
  app.add_option("--batch", options.batch, "Binds a symbolic first dimension");
  app.add_option("--quota", options.quota, "Integer set operations that one decision may spend");
  app.add_flag("--build", options.build, "Emit and compile too");
  app.add_flag("--choices", options.choices, "Print what was chosen");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) { return tilefuse::bench::run_main(argc, argv); }
