// SPDX-License-Identifier: Apache-2.0
// `tilefuse bench`: time of a model on random input, in total and per kernel.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <random>

#include "api/work.h"
#include "files.h"
#include "model_options.h"
#include "open_model.h"
#include "pass_options.h"
#include "progress.h"
#include "report/chrome_trace.h"
#include "run_inputs.h"
#include "table.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;

constexpr int kWarmUps = 3;
constexpr int kMostProfiled = 9; // runs

struct BenchArguments {
  ModelOptions model;
  int repeat = 50;
  std::string csv;
  std::string profile;
  std::vector<std::string> calibrate;
  PreprocessText said; // of pictures to calibrate with
};

std::vector<double> measure(model::Session &session, int repeat) {
  std::mt19937 random(1);
  std::vector<HostTensor> inputs;
  for (const HostTensor &form : session.inputs())
    inputs.push_back(api::random_input(form, random));
  session.run(inputs);
  for (int i = 0; i < kWarmUps; ++i)
    session.run_again();
  std::vector<double> seconds;
  Progress progress("timing");
  for (int i = 0; i < repeat; ++i) {
    progress.show(i, repeat);
    seconds.push_back(session.run_again());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

// Of sorted values: the smallest that `share` of them do not exceed.
double quantile(const std::vector<double> &sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last + 0.5)];
}

std::string total_line(const std::vector<double> &seconds,
                       const std::vector<model::KernelReport> &kernels) {
  double flops = 0;
  double alone = 0;
  for (const model::KernelReport &kernel : kernels) {
    flops += kernel.flops;
    alone += kernel.seconds;
  }
  const double median = quantile(seconds, 0.5);
  return fmt::format("time     median {:.3f} ms, p10 {:.3f}, p90 {:.3f}, {} runs; kernels by "
                     "themselves {:.3f} ms; {:.1f} GFLOP/s\n",
                     median * 1e3, quantile(seconds, 0.1) * 1e3, quantile(seconds, 0.9) * 1e3,
                     seconds.size(), alone * 1e3, median > 0 ? flops / median * 1e-9 : 0);
}

model::CalibrationInputs calibration_of(const BenchArguments &args,
                                        const program::Program &program) {
  std::string note;
  const PreprocessText text = settings_for(args.model.model, "", args.said, note);
  return {read_calibration(args.calibrate, to_preprocess(text), describe_inputs(program)),
          fmt::format("{} files of --calibrate", args.calibrate.size()), args.model.percentile};
}

void bench(BenchArguments &args) {
  const program::Program program = import(args.model);
  if (args.model.precision == "int8")
    args.model.calibration = calibration_of(args, program);
  const OpenedModel opened = open_model(program, args.model);
  const std::vector<double> seconds = measure(*opened.session, args.repeat);
  const std::vector<model::KernelReport> kernels =
      opened.session->profile(std::min(args.repeat, kMostProfiled));
  if (!args.profile.empty())
    write_files({{args.profile, report::chrome_trace(opened.engine->device->name(), kernels)}});
  const Table table = kernel_table(kernels);
  if (args.csv == "-") {
    std::fputs(to_csv(table).c_str(), stdout);
    return;
  }
  if (!args.csv.empty())
    write_files({{args.csv, to_csv(table)}});
  const std::string text = describe(opened) + total_line(seconds, kernels) + to_text(table);
  std::fputs(printable(text).c_str(), stdout);
}

} // namespace

void add_bench(CLI::App &app) {
  auto args = std::make_shared<BenchArguments>();
  CLI::App *verb =
      app.add_subcommand("bench", "Time a model on random input, in total and per kernel");
  verb->footer("Example:\n  tilefuse bench model.onnx --device cpu --repeat 100 --csv layers.csv");
  add_model_options(*verb, args->model);
  verb->add_option("--repeat", args->repeat, "Timed runs")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  verb->add_option("--csv", args->csv, "Write the kernel table there; - for standard output, alone")
      ->type_name("FILE");
  verb->add_option("--profile", args->profile,
                   "Write one run there as a Chrome trace: every kernel by the device's clock")
      ->type_name("FILE");
  add_calibration_options(*verb, args->calibrate, args->model.percentile);
  verb->add_option("--preset", args->said.preset,
                   "How such pictures become inputs: imagenet-caffe or imagenet-torch");
  verb->callback([args] {
    bench(*args);
    report_passes(*args->model.passes);
  });
}

} // namespace tilefuse::tool
