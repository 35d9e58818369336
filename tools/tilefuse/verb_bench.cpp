// SPDX-License-Identifier: Apache-2.0
// `tilefuse bench`: time of a model on random input, or of a recipe's training step, in total and per kernel.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "api/training.h"
#include "api/work.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "files.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "pass_options.h"
#include "picture_options.h"
#include "progress.h"
#include "recipe_options.h"
#include "report/chrome_trace.h"
#include "report/kernels.h"
#include "run_inputs.h"
#include "timed_session.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;

struct BenchArguments {
  ModelOptions model;
  int repeat = 50;
  int streams = 1;
  std::size_t most = 0; // kernels shown; 0: all
  std::string sort;     // empty: by time for people, in launch order for programs
  std::string profile;
  std::vector<std::string> images;
  std::vector<std::string> calibrate;
  PictureOptions pictures;
  OutputOptions out;
};

// The first of the pictures' runs, or random numbers.
std::vector<HostTensor> inputs_of(const BenchArguments &args, const PictureSettings &settings,
                                  const model::Session &session) {
  if (!args.images.empty()) {
    ImageRuns images = read_images(expand_folders(args.images), settings, session.inputs());
    for (const std::string &warning : images.warnings)
      warn(warning);
    return std::move(images.runs.front());
  }
  return random_inputs(session);
}

// Several sessions side by side, each on a device of its own with its share of the cores: places a
// second in all.
double throughput(const BenchArguments &args, const program::Program &program) {
  const int cores = args.model.threads > 0 ? args.model.threads : available_threads();
  ModelOptions options = args.model;
  options.threads = std::max(1, cores / args.streams);
  std::vector<OpenedModel> opened;
  for (int s = 0; s < args.streams; ++s) {
    opened.push_back(open_model(program, options));
    opened.back().session->run(random_inputs(*opened.back().session));
  }
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (OpenedModel &one : opened)
    threads.emplace_back([&one, &args] {
      for (int i = 0; i < args.repeat; ++i)
        one.session->run_again();
    });
  for (std::thread &thread : threads)
    thread.join();
  return static_cast<double>(batch_of(*opened.front().session)) * args.streams * args.repeat /
         watch.seconds();
}

void add_streams(report::Document &document, const BenchArguments &args,
                 const program::Program &program) {
  if (args.streams < 2)
    return;
  const double rate = throughput(args, program);
  document.line("streams", fmt::format("{} side by side: {:.1f} a second", args.streams, rate),
                {{"streams", std::int64_t{args.streams}}, {"streams_per_second", rate}});
}

report::KernelOrder order_of(const BenchArguments &args) {
  const bool is_for_people = !args.out.is_json && args.out.csv.empty();
  const bool by_time = args.sort.empty() ? is_for_people : args.sort == "time";
  return by_time ? report::KernelOrder::Time : report::KernelOrder::Launch;
}

void bench(BenchArguments &args) {
  check_calibration(args.calibrate, args.model);
  const bool has_pictures = !args.images.empty() || !args.calibrate.empty();
  if (!has_pictures)
    check_no_picture_options(args.pictures);
  // What lies beside the model, a recipe of its training say, is of no concern without pictures.
  const PictureSettings settings =
      has_pictures ? picture_settings(args.model.model, args.pictures) : PictureSettings();
  const program::Program program =
      import(args.model,
             args.images.empty()
                 ? api::Given()
                 : bind_picture(settings.preprocess, read_source(args.model).inputs(args.model)));
  if (args.model.precision == "int8")
    args.model.calibration = {read_calibration(args.calibrate, settings, describe_inputs(program)),
                              fmt::format("{} files of --calibrate", args.calibrate.size())};
  const OpenedModel opened = open_model(program, args.model);
  const report::Timing timing =
      time_runs(*opened.session, inputs_of(args, settings, *opened.session), args.repeat);
  const std::vector<model::KernelReport> kernels =
      opened.session->profile(std::min(args.repeat, kMostProfiled)).kernels;
  std::vector<OutputFile> files;
  if (!args.profile.empty())
    files.push_back({args.profile, report::chrome_trace(opened.engine->device->name(), kernels)});
  report::Document document = describe(opened);
  report::add_timing(document, timing, kernels);
  add_streams(document, args, program);
  document.table("kernels", report::kernel_table(kernels, order_of(args), args.most));
  for (const std::string &sentence : report::advice(kernels))
    document.advise(sentence);
  print(document, args.out, std::move(files));
}

// A step of a recipe: its own pictures, all kernels of gradients and update.
void bench_recipe(const BenchArguments &args) {
  const auto engine = std::make_shared<api::Engine>(args.model.device, args.model, log_to_stderr());
  const api::Training training{.recipe = api::read_recipe(args.model.model),
                               .fusion = args.model.fusion};
  std::optional<Progress> progress("compiling");
  const auto show = [&](int done, int total) { return progress->show(done, total), true; };
  api::Trainer trainer(engine, training, show);
  progress.emplace("timing");
  const api::Timing timed = trainer.time(args.repeat, show);
  progress.reset();
  report::Document document;
  document.text("step", fmt::format("device   {} ({}; {})\n{}", engine->device->name(),
                                    engine->device->target().name, engine->choice.why,
                                    trainer.info().text));
  report::add_timing(document,
                     {.seconds = timed.seconds, .batch = training.recipe.steps.pictures()},
                     timed.kernels);
  document.table("kernels", report::kernel_table(timed.kernels, order_of(args), args.most));
  std::vector<OutputFile> files;
  if (!args.profile.empty())
    files.push_back({args.profile, report::chrome_trace(engine->device->name(), timed.kernels)});
  print(document, args.out, std::move(files));
}

} // namespace

void add_bench(CLI::App &app) {
  auto args = std::make_shared<BenchArguments>();
  CLI::App *verb = app.add_subcommand(
      "bench", "Time a model on random input, or a step of a recipe, in total and per kernel");
  verb->footer("Examples:\n"
               "  tilefuse bench model.onnx --device cpu --repeat 100 --csv layers.csv\n"
               "  tilefuse bench model.onnx --batch 8 --streams 2 --json\n"
               "  tilefuse bench recipe.toml --device cuda    a step of training");
  add_model_options(*verb, args->model);
  verb->add_option("--image", args->images, "Time it on these pictures instead of random numbers")
      ->type_name("FILE|DIR");
  verb->add_option("--repeat", args->repeat, "Timed runs (50)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  verb->add_option("--streams", args->streams,
                   "Also time so many copies of the model side by side, each with its share of the "
                   "cores")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  verb->add_option("--sort", args->sort,
                   "Kernels by their time, or in the order of launches; by time if not given, and "
                   "--json and --csv in that of launches")
      ->check(CLI::IsMember({"time", "launch"}));
  verb->add_option("--top", args->most, "Only the first K kernels; the rest in one line")
      ->check(CLI::Range(1, 1000000))
      ->type_name("K");
  verb->add_option("--profile", args->profile,
                   "Write one run there as a Chrome trace: every kernel by the device's clock")
      ->type_name("FILE");
  add_calibration_options(*verb, args->calibrate, args->model);
  add_picture_options(*verb, args->pictures);
  add_output_options(*verb, args->out, true);
  verb->callback([args, verb] {
    if (is_recipe(args->model.model)) {
      static constexpr std::array kKnown = {"--repeat", "--sort", "--top", "--profile", "--fuse"};
      check_recipe_options(*verb, kKnown);
      return bench_recipe(*args);
    }
    bench(*args);
    report_passes(*args->model.passes);
  });
}

} // namespace tilefuse::tool
