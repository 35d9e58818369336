// SPDX-License-Identifier: Apache-2.0
// The launches of a training step's gradients on any row of devices/, as they are predicted: CSV of
// microseconds, kernel and nodes; with --program the program that they are made of, with --launch N
// all of one launch, with --memory what lies in memory when most does, and with --arena-gb besides
// which tensors are computed again, and why; with --times instead what planning takes, pass by pass,
// then again with the answers of the first time kept; with --start FILE, a kernel cache, the host's
// seconds until a whole run is ready for its first step, on a device that does nothing.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/pass_context.h"
#include "base/stopwatch.h"
#include "cost/group_model.h"
#include "idle_device.h"
#include "launch/text.h"
#include "model/compile.h"
#include "model/passes.h"
#include "model/plan/plan.h"
#include "paths.h"
#include "report/waiting.h"
#include "target/device_rows.h"
#include "target_device.h"
#include "train/gradients.h"
#include "train/recipe.h"
#include "train/setup.h"
#include "train/trainer.h"

namespace tilefuse::bench {
namespace {

struct Options {
  std::string recipe;
  std::vector<std::string> settings;
  std::string target = "cuda_sm90";
  std::string fuse = "pointwise";
  bool program = false;
  int launch = -1;
  bool memory = false;
  double arena_gb = 0;
  bool times = false;
  std::string start; // a kernel cache
};

void print_memory(const model::Compiled &compiled) {
  const model::Plan plan = model::make_plan(compiled, 256);
  std::vector<double> held(compiled.launches.size());
  for (const model::PlacedBuffer &buffer : plan.buffers)
    if (buffer.is_shared)
      for (int k = buffer.first_launch; k <= buffer.last_launch; ++k)
        held[at(k)] += static_cast<double>(buffer.bytes);
  const auto most = std::max_element(held.begin(), held.end());
  const int peak = static_cast<int>(most - held.begin());
  fmt::print("MB,buffer,first,last,written by\n");
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const model::PlacedBuffer &buffer = plan.buffers[b];
    if (buffer.is_shared && buffer.first_launch <= peak && peak <= buffer.last_launch)
      fmt::print("{:.1f},{},{},{},{}\n", static_cast<double>(buffer.bytes) * 1e-6, b,
                 buffer.first_launch, buffer.last_launch,
                 compiled.launches[at(buffer.first_launch)].launch.parts.front().placed.origin);
  }
  fmt::print("# {:.1f} MB at launch {}; arena {:.1f} MB, own {:.1f} MB\n", *most * 1e-6, peak,
             static_cast<double>(plan.activation_bytes - plan.arena_begin) * 1e-6,
             static_cast<double>(plan.arena_begin) * 1e-6);
}

void print_waiting(const model::Compiled &compiled) {
  if (!compiled.waiting.empty())
    fmt::print("{}", report::to_text(report::waiting_table(compiled.waiting, 20)));
}

void print_launches(const model::Compiled &compiled, const Target &target) {
  double sum = 0;
  double aside = 0;
  fmt::print("us,parts,aside before,schedule,nest,nodes\n");
  for (const model::CompiledLaunch &each : compiled.launches) {
    const std::vector<launch::Part> &parts = each.launch.parts;
    double seconds = 0;
    for (const launch::Part &part : parts)
      seconds += cost::predict(part.placed.group, part.schedule, target).seconds;
    const launch::Part &first = parts.front();
    fmt::print("{:.1f},{},{},{},{},{}\n", seconds * 1e6, parts.size(),
               each.before ? fmt::to_string(*each.before) : "", first.schedule.name,
               first.placed.group.anchor.name, first.placed.origin);
    (each.before ? aside : sum) += seconds;
  }
  fmt::print("# {} launches, {:.3f} ms predicted and {:.3f} beside\n", compiled.launches.size(),
             sum * 1e3, aside * 1e3);
}

void print_times(const program::Program &program, const TargetDevice &device,
                 search::KeptChoices &kept, model::SessionOptions session) {
  fmt::print("turn,pass,seconds\n");
  for (const std::string_view turn : {"cold", "kept"}) {
    PassContext passes;
    passes.time();
    session.passes = &passes;
    const Stopwatch watch;
    model::choose_kernels(program, device, kept, session);
    const double seconds = watch.seconds();
    for (const PassTime &pass : passes.times())
      fmt::print("{},{},{:.3f}\n", turn, pass.name, pass.seconds);
    fmt::print("{},all,{:.3f}\n", turn, seconds);
  }
}

void print_start(const train::Recipe &recipe, const Options &options) {
  IdleDevice device(find_target(TILEFUSE_SOURCE_DIR "/devices", options.target));
  const Stopwatch watch;
  runtime::KernelCache cache(options.start,
                             [](const std::string &why) { fmt::print("{}\n", why); });
  train::TrainerOptions trainer;
  trainer.session.fusion.level = *poly::parse_fuse_level(options.fuse);
  const train::Trainer made(recipe, device, cache, trainer);
  fmt::print("{:.3f} s until the first step\n", watch.seconds());
}

void run(const Options &options) {
  const Stopwatch import;
  train::Recipe recipe = train::read_recipe(options.recipe);
  for (const std::string &setting : options.settings)
    train::set(recipe, setting);
  if (!options.start.empty())
    return print_start(recipe, options);
  const train::Setup setup(recipe);
  TargetDevice device(find_target(TILEFUSE_SOURCE_DIR "/devices", options.target));
  const model::AppliedPrecision applied =
      train::cut_step(setup.step_program, recipe.precision, device.target()).applied;
  model::SessionOptions session{.is_simplified = applied.is_simplified};
  session.fusion.level = *poly::parse_fuse_level(options.fuse);
  session.has_asides = true;
  session.arena_bytes = static_cast<std::int64_t>(options.arena_gb * 1e9);
  if (options.program) {
    const program::Program program =
        model::prepare(applied.program, device.target(), {.is_simplified = applied.is_simplified});
    fmt::print("{}", program::to_text(program));
    return;
  }
  runtime::KernelCache cache("", [](const std::string &) {});
  search::KeptChoices kept(&cache, device.target());
  if (options.times) {
    fmt::print("# {:.3f} s until there is a program\n", import.seconds());
    print_times(applied.program, device, kept, session);
    return;
  }
  const model::Compiled compiled = model::choose_kernels(applied.program, device, kept, session);
  if (options.memory) {
    print_memory(compiled);
    print_waiting(compiled);
  } else if (options.launch >= 0)
    fmt::print("{}", launch::to_text(compiled.launches.at(at(options.launch)).launch));
  else
    print_launches(compiled, device.target());
}

int run_main(int argc, char **argv) {
  Options options;
  CLI::App app("Predicts the launches of a training step on a row of devices/");
  app.add_option("recipe", options.recipe, "A recipe (docs/training.md)")->required();
  app.add_option("--set", options.settings, "Any key of the recipe")->allow_extra_args(false);
  app.add_option("--target", options.target, "A row of devices/");
  app.add_option("--fuse", options.fuse)->check(CLI::IsMember({"none", "pointwise", "all"}));
  app.add_option("--launch", options.launch, "Print this one, numbered from 0");
  app.add_option("--arena-gb", options.arena_gb, "Compute tensors again until the arena fits");
  app.add_flag("--memory", options.memory, "Print the tensors that are held when most are");
  app.add_flag("--times", options.times, "Print seconds of planning instead");
  app.add_option("--start", options.start, "Print seconds until a run is ready for its first step");
  app.add_flag("--program", options.program, "Print the program instead");
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
