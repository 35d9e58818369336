// SPDX-License-Identifier: Apache-2.0
// `tilefuse train`: trains a model by a recipe, or by options alone. `tilefuse evaluate`: how well a
// model classifies pictures.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "api/engine.h"
#include "api/training.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/read_file.h"
#include "lower/pipeline.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "progress.h"
#include "prose.h"
#include "train/lanes/rendezvous.h"
#include "train/recipe.h"
#include "train/run.h"
#include "verb.h"
#include "worker_processes.h"

namespace tilefuse::tool {
namespace {

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
  int workers = 0; // that this process starts; 0: none
  int restarts = 0;
  double timeout = 120; // seconds
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
  std::fputs(fitted(report::printable(text), kLabel).c_str(), stdout);
  std::fflush(stdout);
}

// Of several workers one speaks.
bool speaks(const train::Rendezvous *workers) {
  return workers == nullptr || workers->star.rank() == 0;
}

// What a run would be.
void dry_run(const api::Training &training, train::Setup setup, api::Engine &engine,
             const api::RunWatch &watch, const std::function<void(const std::string &)> &say) {
  const train::Trainer trainer(std::move(setup), *engine.device, *engine.cache,
                               api::trainer_options(engine, training, watch));
  if (speaks(watch.workers))
    say(trainer.describe());
}

void train_with(const TrainArguments &args, train::Setup setup, api::Engine &engine,
                train::Rendezvous *workers) {
  const api::Training training{.recipe = setup.recipe,
                               .fusion = args.fusion,
                               .folder = args.folder,
                               .resumes = args.resumes,
                               .forces = args.forces};
  Progress progress("training");
  const auto say = [&](const std::string &text) {
    progress.clear();
    print(text);
  };
  api::RunWatch watch{.workers = workers};
  watch.compiling = [&](int done, int total) {
    if (speaks(workers))
      progress.show(fmt::format("compiling {}/{}", done, total));
    return true;
  };
  if (speaks(workers))
    say(fmt::format("device   {} ({}; {})\n", engine.device->name(), engine.device->target().name,
                    engine.choice.why));
  if (args.is_dry)
    return dry_run(training, std::move(setup), engine, watch, say);
  watch.on_step = [&](const train::StepReport &step) {
    progress.show(fmt::format("step {}  loss {:.4f}  rate {:.3g}  {:.1f} ms", step.step, step.loss,
                              step.rate, step.seconds * 1e3));
  };
  watch.is_stopped = [] { return is_interrupted.load(); };
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const train::RunResult result = api::train_run(engine, training, std::move(setup), watch, say);
  if (speaks(workers))
    say(api::result_text(result, args.folder));
}

// The device of a worker: of several GPUs of a host each has its own.
std::string device_of(const TrainArguments &args, const runtime::WorkerPlace &place) {
  if (place.count == 1 || args.device != "cuda")
    return args.device;
  if (!place.local)
    throw Error(ErrorCode::Device,
                fmt::format("rank {} of {} does not know which of its host's GPUs is its own",
                            place.rank, place.count),
                {}, {"the variable LOCAL_RANK says it, or --device cuda:N"});
  return fmt::format("cuda:{}", *place.local);
}

// The others, where there are others: met, and of the same mind.
std::unique_ptr<train::Rendezvous> meet(const TrainArguments &args, const train::Recipe &recipe,
                                        const runtime::WorkerPlace &place, api::Engine &engine) {
  if (place.count == 1)
    return nullptr;
  const std::string &selector = engine.choice.selector;
  auto met = std::make_unique<train::Rendezvous>(place, *engine.device, selector, args.timeout);
  train::agree(met->star, {{"program", TILEFUSE_VERSION " " + std::string(lower::code_version())},
                           {"recipe", content_hash(train::to_text(recipe))},
                           {"model", content_hash(read_file(recipe.model))},
                           {"target", content_hash(to_text(engine.device->target()))},
                           {"driver", engine.device->driver()}});
  return met;
}

void train(TrainArguments &args) {
  const train::Recipe recipe = recipe_of(args);
  train::check(recipe);
  const runtime::WorkerPlace place = runtime::worker_place(std::getenv);
  // Model and data are read while the device opens.
  std::future<train::Setup> setup =
      std::async(std::launch::async, [&] { return train::Setup(recipe); });
  api::Engine engine(device_of(args, place), args, log_to_stderr());
  const std::unique_ptr<train::Rendezvous> met = meet(args, recipe, place, engine);
  try {
    train_with(args, setup.get(), engine, met.get());
  } catch (const Error &error) {
    if (met)
      met->star.monitor().fail(error.message());
    throw;
  }
}

// As many as are left of those that an end like this one leaves, a power of two.
int left_of(const std::vector<int> &codes) {
  const auto is_lost = [](int code) { return code != 0 && code != runtime::kLostWorker; };
  const auto lost = std::count_if(codes.begin(), codes.end(), is_lost);
  const auto left = static_cast<unsigned>(static_cast<std::ptrdiff_t>(codes.size()) - lost);
  return std::max(1, static_cast<int>(std::bit_floor(left)));
}

// Starts workers, and after a loss those that are left from the newest checkpoint.
void train_by_workers(const TrainArguments &args) {
  train::check(recipe_of(args));
  WorkerProcesses processes{own_arguments(), args.workers};
  for (int restarts = args.restarts;; --restarts) {
    const auto [codes, first] = run_workers(processes);
    const auto failed =
        std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
    if (failed == codes.end())
      return;
    // The others, which wait for it to come, say nothing of it.
    if (codes[first] < 0 &&
        std::find(codes.begin(), codes.end(), runtime::kLostWorker) == codes.end())
      warn(fmt::format("rank {} was ended by signal {}, before the workers had met", first,
                       -codes[first]));
    const bool is_loss = std::any_of(codes.begin(), codes.end(), [](int code) {
      return code < 0 || code == runtime::kLostWorker;
    });
    if (!is_loss || restarts <= 0)
      throw CLI::RuntimeError(is_loss ? runtime::kLostWorker : *failed);
    processes.count = left_of(codes);
    const bool can_resume = train::newest_checkpoint(args.folder, nullptr).has_value();
    if (can_resume && std::find(processes.arguments.begin(), processes.arguments.end(),
                                "--resume") == processes.arguments.end())
      processes.arguments.emplace_back("--resume");
    warn(fmt::format("starts again with {} of {} workers{}", processes.count, codes.size(),
                     can_resume ? ", from the newest checkpoint" : ""));
  }
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
                  "cpu, cpu:avx2 (or avx512: no more than these instructions), cuda, cuda:N, "
                  "opencl, opencl:P or opencl:P:D (numbers or parts of names)")
      ->type_name("DEVICE");
  add_threads_option(verb, options.threads);
  auto *cache = verb.add_option("--cache", options.cache, "Kernel cache file")->type_name("PATH");
  verb.add_flag("--no-cache", options.no_cache, "Neither read nor write a kernel cache")
      ->excludes(cache);
}

struct EvaluateArguments : api::EngineOptions {
  std::string device;
  train::Recipe recipe;
  OutputOptions out;
};

void evaluate(EvaluateArguments &args) {
  api::Engine engine(args.device, args, log_to_stderr());
  const train::Evaluation result = api::evaluate(engine, {.recipe = args.recipe}, {});
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
  add_short(*verb, *args, "--memory", "steps.memory_gb", "Gigabytes that training may take");
  verb->add_option("--set", args->settings, "Any key of a recipe: optimizer.kind=adamw")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  verb->add_flag("--resume", args->resumes, "Go on from the folder's newest checkpoint");
  verb->add_flag("--force", args->forces, "Resume although the recipe differs");
  verb->add_flag("--dry-run", args->is_dry, "Compile and say what would be done");
  verb->add_option("--workers", args->workers,
                   "Processes of this host that share the lanes of a step")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--restarts", args->restarts, "How often to start again when a worker is lost")
      ->check(CLI::Range(0, 1 << 16));
  verb->add_option("--timeout", args->timeout, "Seconds to wait for a worker that does not come")
      ->check(CLI::Range(1.0, 1e6));
  add_engine_options(*verb, args->device, *args);
  add_fusion_options(*verb, args->fusion);
  verb->callback([args] {
    if (args->folder.empty() && !args->is_dry)
      throw Error(ErrorCode::Syntax, "train: -o names the folder of the run");
    const bool is_worker = runtime::worker_place(std::getenv).count > 1;
    if (args->workers > 1 && !is_worker && !args->is_dry)
      train_by_workers(*args);
    else
      train(*args);
  });
}

void add_evaluate(CLI::App &app) {
  auto args = std::make_shared<EvaluateArguments>();
  CLI::App *verb = app.add_subcommand("evaluate", "Say how many pictures a model classifies right");
  verb->footer("Example:\n  tilefuse evaluate best.onnx --data cifar:test.bin.gz");
  verb->add_option("model", args->recipe.model, "ONNX model")->required()->type_name("MODEL");
  verb->add_option("--data", args->recipe.data.test,
                   "Pictures: cifar:FILE, mnist:IMAGES,LABELS, folder:DIR, …")
      ->required()
      ->type_name("KIND:PATH");
  verb->add_option("--side", args->recipe.data.side,
                   "Pixels: size that pictures of folder: and list: are made")
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option("--batch", args->recipe.steps.batch, "Pictures at a time")
      ->check(CLI::Range(1, 1 << 20));
  verb->add_option("--mean", args->recipe.data.mean, "By channel, of pixels in 0..1")
      ->delimiter(',');
  verb->add_option("--std", args->recipe.data.std, "By channel")->delimiter(',');
  verb->add_option("--precision", args->recipe.precision, "f32, tf32, f16 or bf16")
      ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
  add_engine_options(*verb, args->device, *args);
  add_output_options(*verb, args->out, false);
  verb->callback([args] { evaluate(*args); });
}

} // namespace tilefuse::tool
