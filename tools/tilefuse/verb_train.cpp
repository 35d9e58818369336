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
#include "base/error.h"
#include "data/open.h"
#include "files.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "progress.h"
#include "report/kernels.h"
#include "train/evaluator.h"
#include "train/recipe.h"
#include "train/run.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

constexpr int kWarmUps = 3; // steps before kernels are timed
constexpr int kProfiled = 5;

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
  train::Recipe recipe;
  if (args.what.ends_with(".onnx")) {
    recipe.model = args.what;
    recipe.optimizer.rate = 0.01;
  } else {
    recipe = train::read_recipe(args.what);
  }
  for (const std::string &setting : args.shorts)
    train::set(recipe, setting);
  for (const std::string &setting : args.settings)
    train::set(recipe, setting);
  return recipe;
}

std::string epoch_line(const train::EpochReport &epoch, std::int64_t epochs) {
  std::string line = fmt::format("epoch {:>2}/{}  {} steps  loss {:.4f}  top-1 {:.4f}", epoch.epoch,
                                 epochs, epoch.steps, epoch.loss, epoch.top1);
  if (epoch.test)
    line += fmt::format("  |  test {:.4f}  loss {:.4f}{}", epoch.test->top1(), epoch.test->loss,
                        epoch.is_best ? "  best" : "");
  line += fmt::format("  |  {:.0f} images/s, input wait {:.1f} %  {:.1f} s",
                      epoch.images_per_second, epoch.waited * 100, epoch.seconds);
  return epoch.skipped > 0 ? line + fmt::format(", {} steps skipped", epoch.skipped) : line;
}

void print(const std::string &text) {
  std::fputs(report::printable(text).c_str(), stdout);
  std::fflush(stdout);
}

std::string result_text(const train::RunResult &result, const std::string &folder) {
  std::string text;
  if (result.best_epoch > 0 && result.best)
    text += fmt::format("best     epoch {}, test top-1 {:.4f}: {}/best.onnx\n", result.best_epoch,
                        result.best->top1(), folder);
  text += result.is_complete
              ? fmt::format("done     {} steps: {}/last.onnx\n", result.step, folder)
              : fmt::format("stopped  behind step {}: --resume goes on\n", result.step);
  return text;
}

void train(TrainArguments &args) {
  const train::Recipe recipe = recipe_of(args);
  train::check(recipe);
  api::Engine engine(args.device, args, log_to_stderr());
  Progress progress("training");
  train::RunOptions options{.folder = args.folder, .resumes = args.resumes, .forces = args.forces};
  options.trainer.session.fusion = args.fusion;
  options.trainer.session.warn = warn;
  options.trainer.session.progress = [&](int done, int total) {
    progress.show(fmt::format("compiling {}/{}", done, total));
  };
  print(fmt::format("device   {} ({}; {})\n", engine.device->name(), engine.device->target().name,
                    engine.choice.why));
  if (args.is_dry) {
    train::Trainer trainer(recipe, *engine.device, *engine.cache, options.trainer);
    print(trainer.describe());
    if (!args.csv.empty()) {
      for (int step = 0; step < kWarmUps; ++step)
        trainer.run_step();
      write_files({{args.csv, to_csv(report::kernel_table(trainer.profile(kProfiled)))}});
    }
    return;
  }
  options.say = print;
  options.on_step = [&](const train::StepReport &step) {
    progress.show(fmt::format("step {}  loss {:.4f}  rate {:.3g}  {:.1f} ms", step.step, step.loss,
                              step.rate, step.seconds * 1e3));
  };
  options.on_epoch = [&](const train::EpochReport &epoch) {
    print(epoch_line(epoch, recipe.steps.epochs) + "\n");
  };
  options.is_stopped = [] { return is_interrupted.load(); };
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  print(result_text(train::run(recipe, *engine.device, *engine.cache, options), args.folder));
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
  std::string model;
  std::string data;
  int side = data::OpenOptions().side;
  std::int64_t batch = 32;
  std::vector<double> mean, std;
  std::string precision = "f32";
  OutputOptions out;
};

void evaluate(EvaluateArguments &args) {
  const std::unique_ptr<data::Source> source = data::open_source(args.data, {.side = args.side});
  api::Engine engine(args.device, args, log_to_stderr());
  const onnx_import::Model model(args.model);
  const train::Task task{.batch = args.batch,
                         .picture = source->form(),
                         .mean = args.mean,
                         .std = args.std,
                         .loss = {}};
  train::Compilation compilation{*engine.device, *engine.cache, args.precision, {}};
  compilation.session.warn = warn;
  train::Evaluator evaluator(model, {}, task, compilation, {});
  const train::Evaluation result = evaluator.run(*source, 2);
  report::Document document;
  document.line("device",
                fmt::format("{} ({}; {})", engine.device->name(), engine.device->target().name,
                            engine.choice.why),
                {{"device", engine.device->name()}});
  document.line("top-1", fmt::format("{:.4f} ({} of {})", result.top1(), result.hits, result.count),
                {{"top1", result.top1()},
                 {"hits", std::int64_t{result.hits}},
                 {"count", std::int64_t{result.count}}});
  document.line("loss", fmt::format("{:.4f}", result.loss), {{"loss", result.loss}});
  print(document, args.out);
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
  add_short(*verb, *args, "--data", "data.train",
            "Pictures to train on: cifar:FILE, folder:DIR, …");
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
  verb->add_option("model", args->model, "ONNX model")->required()->type_name("MODEL");
  verb->add_option("--data", args->data, "Pictures: cifar:FILE, mnist:IMAGES,LABELS, folder:DIR, …")
      ->required()
      ->type_name("KIND:PATH");
  verb->add_option("--side", args->side, "Pixels: size that pictures of folder: and list: are made")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--batch", args->batch, "Pictures at a time")->check(CLI::Range(1, 1 << 20));
  verb->add_option("--mean", args->mean, "By channel, of pixels in 0..1")->delimiter(',');
  verb->add_option("--std", args->std, "By channel")->delimiter(',');
  verb->add_option("--precision", args->precision, "f32, tf32, f16 or bf16")
      ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
  add_engine_options(*verb, args->device, *args);
  add_output_options(*verb, args->out, false);
  verb->callback([args] { evaluate(*args); });
}

} // namespace tilefuse::tool
