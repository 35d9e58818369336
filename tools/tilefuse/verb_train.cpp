// SPDX-License-Identifier: Apache-2.0
// `tilefuse train`: trains a model by a recipe, or by options alone. `tilefuse evaluate`: how well a
// model classifies pictures.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "api/engine.h"
#include "api/training.h"
#include "base/error.h"
#include "files.h"
#include "model_options.h"
#include "open_model.h"
#include "progress.h"
#include "table.h"
#include "train/recipe.h"
#include "train/run.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

constexpr int kProfiled = 5; // steps

std::atomic<bool> is_interrupted = false;

// The first Ctrl-C ends the run behind its step, the second at once.
void on_interrupt(int signal) {
  if (is_interrupted.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

struct TrainArguments : api::EngineOptions {
  std::string device; // empty: chosen
  std::string what;   // a recipe, or a model
  std::string folder;
  std::vector<std::string> settings; // of --set, and what the short options stand for
  std::string data, test;
  std::vector<std::string> shorts; // "optimizer.rate=0.1" of --rate
  bool resumes = false;
  bool forces = false;
  bool is_dry = false;
  std::string csv; // of kernels, in a dry run
  search::FusionSettings fusion;
};

train::Recipe recipe_of(const TrainArguments &args) {
  train::Recipe recipe = api::read_recipe(args.what);
  for (const std::string &setting : args.shorts)
    train::set(recipe, setting);
  for (const std::string &setting : args.settings)
    train::set(recipe, setting);
  return recipe;
}

void print(const std::string &text) {
  std::fputs(printable(text).c_str(), stdout);
  std::fflush(stdout);
}

void train(TrainArguments &args) {
  const api::Training training{.recipe = recipe_of(args),
                               .fusion = args.fusion,
                               .folder = args.folder,
                               .resumes = args.resumes,
                               .forces = args.forces};
  train::check(training.recipe);
  const auto engine = std::make_shared<api::Engine>(args.device, args, log_to_stderr());
  Progress progress("training");
  const auto compiling = [&](int done, int total) {
    progress.show(fmt::format("compiling {}/{}", done, total));
    return true;
  };
  print(fmt::format("device   {} ({}; {})\n", engine->device->name(),
                    engine->device->target().name, engine->choice.why));
  if (args.is_dry) {
    api::Trainer trainer(engine, training, compiling);
    print(trainer.info().text);
    if (!args.csv.empty())
      write_files({{args.csv, to_csv(kernel_table(trainer.time(kProfiled, {}).kernels))}});
    return;
  }
  api::RunWatch watch{.compiling = compiling};
  watch.on_step = [&](const train::StepReport &step) {
    progress.show(fmt::format("step {}  loss {:.4f}  rate {:.3g}  {:.1f} ms", step.step, step.loss,
                              step.rate, step.seconds * 1e3));
  };
  watch.is_stopped = [] { return is_interrupted.load(); };
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  print(api::result_text(api::train_run(*engine, training, watch, print), args.folder));
}

void add_short(CLI::App &verb, TrainArguments &args, const char *name, const char *key,
               const char *help) {
  verb.add_option_function<std::string>(
          name,
          [&args, key](const std::string &value) {
            args.shorts.push_back(std::string(key) + "=" + value);
          },
          std::string(help) + " (" + key + ")")
      ->type_name("VALUE");
}

void add_engine_options(CLI::App &verb, std::string &device, api::EngineOptions &options) {
  verb.add_option("--device", device,
                  "cpu, cuda, cuda:N, opencl, opencl:P or opencl:P:D (numbers or parts of names)")
      ->type_name("DEVICE");
  add_threads_option(verb, options.threads);
  auto *cache = verb.add_option("--cache", options.cache, "Kernel cache file")->type_name("PATH");
  verb.add_flag("--no-cache", options.no_cache, "Neither read nor write a kernel cache")
      ->excludes(cache);
}

struct EvaluateArguments : api::EngineOptions {
  std::string device;
  train::Recipe recipe;
};

void evaluate(EvaluateArguments &args) {
  api::Engine engine(args.device, args, log_to_stderr());
  const train::Evaluation result = api::evaluate(engine, {.recipe = args.recipe}, {});
  print(fmt::format("device   {} ({}; {})\ntop-1    {:.4f} ({} of {})\nloss     {:.4f}\n",
                    engine.device->name(), engine.device->target().name, engine.choice.why,
                    result.top1(), result.hits, result.count, result.loss));
}

} // namespace

void add_train(CLI::App &app) {
  auto args = std::make_shared<TrainArguments>();
  CLI::App *verb = app.add_subcommand("train", "Train a model that classifies pictures");
  verb->footer("Examples:\n"
               "  tilefuse train recipe.toml -o runs/cifar\n"
               "  tilefuse train model.onnx --data cifar:train.bin.gz --epochs 10 --last 2 -o run");
  verb->add_option("recipe", args->what, "A recipe (docs/training.md), or an ONNX model")
      ->required();
  verb->add_option("-o,--output", args->folder, "Folder of the run")->type_name("DIR");
  add_short(*verb, *args, "--data", "data.train", "Pictures to train on: cifar:FILE, folder:DIR, …");
  add_short(*verb, *args, "--test", "data.test", "Pictures to test on");
  add_short(*verb, *args, "--batch", "steps.batch", "Pictures of a step");
  add_short(*verb, *args, "--epochs", "steps.epochs", "Times that all pictures are seen");
  add_short(*verb, *args, "--steps", "steps.limit", "End after so many steps");
  add_short(*verb, *args, "--rate", "optimizer.rate", "Learning rate");
  add_short(*verb, *args, "--last", "parameters.last", "Train the last layers alone");
  add_short(*verb, *args, "--classes", "parameters.classes", "A new head for so many classes");
  add_short(*verb, *args, "--precision", "precision", "f32, tf32, f16 or bf16");
  verb->add_option("--set", args->settings, "Any key of a recipe: optimizer.kind=adamw")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  verb->add_flag("--resume", args->resumes, "Go on from the folder's newest checkpoint");
  verb->add_flag("--force", args->forces, "Resume although the recipe differs");
  auto *dry = verb->add_flag("--dry-run", args->is_dry, "Compile and say what would be done");
  verb->add_option("--csv", args->csv, "Time the kernels of a step and write a table there")
      ->type_name("FILE")
      ->needs(dry);
  add_engine_options(*verb, args->device, *args);
  add_fusion_options(*verb, args->fusion);
  verb->callback([args] {
    if (args->folder.empty() && !args->is_dry)
      throw Error(ErrorCode::Syntax, "train: -o names the folder of the run");
    train(*args);
  });
}

void add_evaluate(CLI::App &app) {
  auto args = std::make_shared<EvaluateArguments>();
  CLI::App *verb = app.add_subcommand("evaluate", "Say how many pictures a model classifies right");
  verb->footer("Example:\n  tilefuse evaluate best.onnx --data cifar:test.bin.gz");
  verb->add_option("model", args->recipe.model, "ONNX model")->required()->type_name("MODEL");
  verb->add_option("--data", args->recipe.data.test, "Pictures: cifar:FILE, mnist:IMAGES,LABELS, folder:DIR, …")
      ->required()
      ->type_name("KIND:PATH");
  verb->add_option("--side", args->recipe.data.side, "Pixels: size that pictures of folder: and list: are made")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--batch", args->recipe.steps.batch, "Pictures at a time")->check(CLI::Range(1, 1 << 20));
  verb->add_option("--mean", args->recipe.data.mean, "By channel, of pixels in 0..1")->delimiter(',');
  verb->add_option("--std", args->recipe.data.std, "By channel")->delimiter(',');
  verb->add_option("--precision", args->recipe.precision, "f32, tf32, f16 or bf16")
      ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
  add_engine_options(*verb, args->device, *args);
  verb->callback([args] { evaluate(*args); });
}

} // namespace tilefuse::tool
