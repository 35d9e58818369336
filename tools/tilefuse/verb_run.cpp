// SPDX-License-Identifier: Apache-2.0
// `tilefuse run`: a model on pictures or tensors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/index.h"
#include "files.h"
#include "labels.h"
#include "model_options.h"
#include "open_model.h"
#include "pass_options.h"
#include "progress.h"
#include "run_inputs.h"
#include "run_outputs.h"
#include "settings.h"
#include "table.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLabelsLimit = 64 << 20;
constexpr const char *kExamples =
    "Examples:\n"
    "  tilefuse run examples/glyphs/model.onnx --image examples/glyphs/images/01.png\n"
    "  tilefuse run squeezenet.onnx --image dog.jpg --labels synset.txt --preset imagenet-caffe "
    "--verbose\n"
    "  tilefuse run model.onnx --input x=x.npy --output results --device opencl\n"
    "Preprocessing: value = (pixel * scale - mean) / std, pixel 0..255. MODEL.toml beside the "
    "model is found by itself.";

struct RunArguments {
  ModelOptions model;
  std::vector<std::string> images;
  std::vector<std::string> inputs;
  std::vector<std::string> calibrate;
  int top = 5;
  int repeat = 0;
  bool verbose = false;
  std::string output;
  std::string preprocess;
  PreprocessText said;
};

// What one start of the verb computes with.
struct Job {
  std::vector<std::vector<HostTensor>> runs;
  std::int64_t per_run = 1;
  std::int64_t filled = 0;
  std::vector<std::string> labels;
  std::string settings_note;
};

HostTensor describe_output(const program::Program &program, std::size_t k) {
  const program::Tensor &tensor = program[program.outputs[k]];
  return {tensor.name, tensor.type, tensor.shape, {}};
}

std::vector<std::string> read_labels(const std::string &file, const program::Program &program) {
  if (file.empty())
    return {};
  std::vector<std::string> labels = parse_labels(read_file(file, kLabelsLimit));
  check_labels(labels, file, describe_output(program, 0));
  return labels;
}

Job image_job(const RunArguments &args, const program::Program &program) {
  Job job;
  const PreprocessText text =
      settings_for(args.model.model, args.preprocess, args.said, job.settings_note);
  ImageRuns images = read_images(args.images, to_preprocess(text), describe_inputs(program));
  job.labels = read_labels(text.labels, program);
  job.runs = std::move(images.runs);
  job.per_run = images.per_run;
  job.filled = images.filled;
  if (job.filled > 0)
    job.settings_note += fmt::format(
        "batch    the last run repeats the last image {} times to be full\n", job.filled);
  return job;
}

Job tensor_job(const RunArguments &args, const program::Program &program,
               std::vector<NamedTensor> given) {
  Job job;
  job.runs.push_back(match_inputs(std::move(given), describe_inputs(program)));
  job.per_run = job.runs[0].empty() || job.runs[0][0].shape.empty() ? 1 : job.runs[0][0].shape[0];
  job.labels = read_labels(args.said.labels, program);
  return job;
}

// Shapes of tensors given by name; the batch of one given without goes to `sizes`.
api::Given bind_shapes(const std::vector<NamedTensor> &given, onnx_import::Options &sizes) {
  api::Given shapes;
  for (const NamedTensor &tensor : given) {
    const program::Shape &shape = tensor.tensor.shape;
    if (tensor.name)
      shapes[*tensor.name] = {tensor.tensor.type, shape};
    else if (!sizes.batch && !shape.empty() && shape[0] > 0)
      sizes.batch = shape[0];
  }
  return shapes;
}

Job make_job(RunArguments &args, program::Program &program) {
  std::vector<NamedTensor> given;
  for (const std::string &argument : args.inputs)
    given.push_back(read_input(argument));
  program = import(args.model, bind_shapes(given, args.model.sizes));
  if (program.outputs.empty())
    throw Error(ErrorCode::Shape, "the model has no output", args.model.model);
  if (!args.output.empty())
    check_output_place(program.outputs.size(), args.output);
  return args.images.empty() ? tensor_job(args, program, std::move(given))
                             : image_job(args, program);
}

// From files of their own, or from what is run.
model::CalibrationInputs calibration_of(const RunArguments &args, const Job &job,
                                        const program::Program &program) {
  if (args.calibrate.empty())
    return {job.runs, "the inputs of this run", args.model.percentile};
  std::string note;
  const PreprocessText text = settings_for(args.model.model, args.preprocess, args.said, note);
  return {read_calibration(args.calibrate, to_preprocess(text), describe_inputs(program)),
          fmt::format("{} files of --calibrate", args.calibrate.size()), args.model.percentile};
}

// Outputs of all runs, and the wall seconds of each run with its copies.
std::vector<std::vector<HostTensor>> compute(model::Session &session, const Job &job,
                                             std::vector<double> &seconds) {
  std::vector<std::vector<HostTensor>> outputs;
  Progress progress("running");
  for (const std::vector<HostTensor> &inputs : job.runs) {
    if (job.runs.size() > 1)
      progress.show(static_cast<int>(outputs.size()), static_cast<int>(job.runs.size()));
    const Clock::time_point start = Clock::now();
    outputs.push_back(session.run(inputs));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return outputs;
}

std::string time_line(model::Session &session, std::vector<double> seconds, int repeat) {
  std::string what = seconds.size() > 1
                         ? fmt::format("median of {} runs with copies", seconds.size())
                         : std::string("one run with copies");
  if (repeat > 0) {
    seconds.clear();
    for (int i = 0; i < repeat; ++i)
      seconds.push_back(session.run_again());
    what = fmt::format("median of {} repeated runs", repeat);
  }
  std::nth_element(seconds.begin(),
                   seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return fmt::format("time     {:.3f} ms ({})\n", seconds[seconds.size() / 2] * 1e3, what);
}

std::string result_text(const RunArguments &args, const Job &job,
                        const std::vector<HostTensor> &outputs) {
  std::string text;
  const bool is_classes = class_count(outputs[0].shape) > 0 && outputs.size() == 1;
  const std::int64_t places = args.images.empty()
                                  ? outputs[0].shape.empty() ? 1 : outputs[0].shape[0]
                                  : static_cast<std::int64_t>(args.images.size());
  if (!is_classes || outputs[0].shape[0] != places) {
    for (const HostTensor &output : outputs)
      text += summary_line(output);
    return text;
  }
  for (std::int64_t n = 0; n < places; ++n) {
    text += args.images.empty() ? fmt::format("row {}\n", n) : args.images[at(n)] + "\n";
    text += top_lines(outputs[0], n, args.top, job.labels);
  }
  return text;
}

void run(RunArguments &args) {
  program::Program program;
  const Job job = make_job(args, program);
  if (args.model.precision == "int8")
    args.model.calibration = calibration_of(args, job, program);
  const OpenedModel opened = open_model(program, args.model);
  std::vector<double> seconds;
  const std::vector<HostTensor> outputs =
      join_runs(compute(*opened.session, job, seconds), job.per_run, job.filled);
  std::string text =
      job.settings_note + describe(opened) + time_line(*opened.session, seconds, args.repeat);
  if (args.output.empty()) {
    text += result_text(args, job, outputs);
  } else {
    const std::vector<OutputFile> files = output_files(outputs, args.output);
    write_files(files);
    for (const OutputFile &file : files)
      text += fmt::format("wrote    {}\n", file.path);
  }
  if (args.verbose)
    text += to_text(kernel_table(opened.session->profile()));
  std::fputs(printable(text).c_str(), stdout);
  report_passes(*args.model.passes);
}

void add_preprocess_options(CLI::App &verb, RunArguments &args) {
  PreprocessText &said = args.said;
  verb.add_option("--preprocess", args.preprocess, "TOML file with the settings below")
      ->type_name("FILE");
  verb.add_option("--preset", said.preset, "imagenet-caffe or imagenet-torch");
  verb.add_option("--size", said.size, "Resize straight to this size")->type_name("WxH");
  verb.add_option("--resize-shorter", said.resize_shorter,
                  "Resize so that the shorter side is this")
      ->type_name("N");
  verb.add_option("--crop", said.crop, "Then keep the middle")->type_name("N|WxH");
  verb.add_option("--order", said.order, "Channel order of the model: rgb (default) or bgr");
  verb.add_option("--scale", said.scale, "One number or fraction, or one per channel")
      ->type_name("S|A,B,C");
  verb.add_option("--mean", said.mean, "As --scale, in the model's channel order")
      ->type_name("S|A,B,C");
  verb.add_option("--std", said.std, "As --mean")->type_name("S|A,B,C");
  verb.add_option("--layout", said.layout,
                  "nchw or nhwc; found from the input's shape when not said");
}

} // namespace

void add_run(CLI::App &app) {
  auto args = std::make_shared<RunArguments>();
  CLI::App *verb = app.add_subcommand("run", "Run a model on pictures or tensors");
  verb->footer(kExamples);
  add_model_options(*verb, args->model);
  auto *inputs = verb->add_option("--input", args->inputs, "Tensor for an input, .npy or .pb")
                     ->type_name("[NAME=]FILE");
  verb->add_option("--image", args->images, "Pictures: JPEG, PNG, BMP, GIF")
      ->type_name("FILE")
      ->excludes(inputs);
  add_calibration_options(*verb, args->calibrate, args->model.percentile);
  verb->add_option("--labels", args->said.labels, "Names of the classes, one per line")
      ->type_name("FILE");
  verb->add_option("--top", args->top, "How many classes are shown")
      ->check(CLI::Range(1, 100000))
      ->type_name("K");
  verb->add_option("--repeat", args->repeat, "Time this many further runs")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  verb->add_option("--output", args->output, "Write the outputs: a .npy file, or a folder")
      ->type_name("FILE.npy|DIR");
  verb->add_flag("--verbose", args->verbose,
                 "One line per kernel: time, rate, share of the roofline (of arithmetic, of the "
                 "caches that can hold its data, of main memory)");
  add_preprocess_options(*verb, *args);
  verb->callback([args] { run(*args); });
}

} // namespace tilefuse::tool
