// SPDX-License-Identifier: Apache-2.0
// `tilefuse run`: a model on pictures or tensors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/index.h"
#include "files.h"
#include "labels.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "pass_options.h"
#include "picture_options.h"
#include "progress.h"
#include "report/kernels.h"
#include "run_boxes.h"
#include "run_inputs.h"
#include "run_labels.h"
#include "run_outputs.h"
#include "terminal.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;
using Clock = std::chrono::steady_clock;

constexpr const char *kExamples =
    "Examples:\n"
    "  tilefuse run examples/glyphs/model.onnx --image examples/glyphs/images/01.png\n"
    "  tilefuse run squeezenet.onnx --image dog.jpg --labels synset.txt --preset imagenet-caffe "
    "--verbose\n"
    "  tilefuse run model.onnx --input x=x.npy --output results --device opencl\n"
    "  tilefuse run yolox_nano.onnx --image street.jpg --preprocess "
    "examples/detect/yolox_nano.toml "
    "--output boxes.png\n"
    "Preprocessing: value = (pixel * scale - mean) / std, pixel 0..255. tilefuse reads MODEL.toml "
    "beside the model: settings of pictures, and in [detect] how outputs become boxes.";

struct RunArguments {
  ModelOptions model;
  std::vector<std::string> images;
  std::vector<std::string> inputs;
  std::vector<std::string> calibrate;
  int top = 5;
  int repeat = 0;
  bool verbose = false;
  std::string output;
  std::string labels;
  PictureOptions pictures;
  OutputOptions out;
};

// What one start of the verb computes with.
struct Job {
  std::vector<std::vector<HostTensor>> runs;
  std::vector<std::string> images; // files, in the order of places
  std::int64_t per_run = 1;
  std::int64_t filled = 0;
  std::vector<std::string> labels;
  report::Document notes;
};

HostTensor describe_output(const program::Program &program, std::size_t k) {
  const program::Tensor &tensor = program[program.outputs[k]];
  return {tensor.name, tensor.type, tensor.shape, {}};
}

std::vector<HostTensor> describe_outputs(const program::Program &program) {
  std::vector<HostTensor> outputs;
  for (std::size_t k = 0; k < program.outputs.size(); ++k)
    outputs.push_back(describe_output(program, k));
  return outputs;
}

// Names of the classes that the first output has, or those that a detector tells apart.
void read_labels(const std::string &asked, const RunArguments &args,
                 const std::optional<DetectRecipe> &recipe, const program::Program &program,
                 Job &job) {
  const HostTensor output = describe_output(program, 0);
  const std::int64_t classes =
      recipe ? detected_classes(*recipe, describe_outputs(program)) : class_count(output.shape);
  const RunLabels labels = run_labels(asked, args.model.model, classes, output);
  job.labels = labels.names;
  if (!labels.found.empty())
    job.notes.line("labels", labels.found, {{"labels", labels.found}});
}

Job image_job(const RunArguments &args, const PictureSettings &settings,
              const program::Program &program) {
  Job job;
  job.images = expand_folders(args.images);
  ImageRuns images = read_images(job.images, settings, describe_inputs(program));
  for (const std::string &warning : images.warnings)
    warn(warning);
  if (!settings.note.empty())
    job.notes.line("settings", settings.note, {{"settings", settings.note}});
  read_labels(args.labels.empty() ? settings.labels : args.labels, args, settings.detect, program,
              job);
  job.runs = std::move(images.runs);
  job.per_run = images.per_run;
  job.filled = images.filled;
  if (job.filled > 0)
    job.notes.line("batch", fmt::format("the last run repeats the last image {} times to be full",
                                        job.filled));
  return job;
}

Job tensor_job(const RunArguments &args, const program::Program &program,
               std::vector<NamedTensor> given) {
  if (args.calibrate.empty())
    check_no_picture_options(args.pictures);
  Job job;
  job.runs.push_back(match_inputs(std::move(given), describe_inputs(program)));
  job.per_run = job.runs[0].empty() || job.runs[0][0].shape.empty() ? 1 : job.runs[0][0].shape[0];
  read_labels(args.labels, args, {}, program, job);
  return job;
}

Job make_job(RunArguments &args, const PictureSettings &settings, program::Program &program) {
  std::vector<NamedTensor> given;
  for (const std::string &argument : args.inputs)
    given.push_back(read_input(argument));
  const std::vector<onnx_import::Declared> declared = read_source(args.model).inputs(args.model);
  program = import(args.model, args.images.empty() ? bind_shapes(given, declared)
                                                   : bind_picture(settings.preprocess, declared));
  if (program.outputs.empty())
    throw Error(ErrorCode::Shape, "the model has no output", args.model.model);
  if (!args.output.empty() && settings.detect && !args.images.empty())
    check_box_place(expand_folders(args.images).size(), program.outputs.size(), args.output);
  else if (!args.output.empty())
    check_output_place(program.outputs.size(), args.output);
  return args.images.empty() ? tensor_job(args, program, std::move(given))
                             : image_job(args, settings, program);
}

// From files of their own, or from what is run.
model::CalibrationInputs calibration_of(const RunArguments &args, const PictureSettings &settings,
                                        const Job &job, const program::Program &program) {
  if (args.calibrate.empty())
    return {job.runs, "the inputs of this run"};
  return {read_calibration(args.calibrate, settings, describe_inputs(program)),
          fmt::format("{} files of --calibrate", args.calibrate.size())};
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

void add_time(report::Document &document, model::Session &session, std::vector<double> seconds,
              const Job &job, int repeat) {
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
  const double median = seconds[seconds.size() / 2];
  const double rate = median > 0 ? static_cast<double>(job.per_run) / median : 0;
  if (!job.images.empty())
    what += fmt::format("; {:.1f} images/s", rate);
  document.line("time", fmt::format("{:.3f} ms ({})", median * 1e3, what),
                {{"seconds", median}, {"places_per_second", rate}});
}

void add_results(report::Document &document, const RunArguments &args, const Job &job,
                 const std::vector<HostTensor> &outputs) {
  const bool is_classes = class_count(outputs[0].shape) > 0 && outputs.size() == 1;
  const std::int64_t places = job.images.empty()
                                  ? outputs[0].shape.empty() ? 1 : outputs[0].shape[0]
                                  : static_cast<std::int64_t>(job.images.size());
  if (!is_classes || outputs[0].shape[0] != places)
    return document.table("outputs", output_table(outputs));
  std::vector<std::string> names = job.images;
  for (std::int64_t n = 0; job.images.empty() && n < places; ++n)
    names.push_back(fmt::format("row {}", n));
  std::string text;
  const std::size_t width = args.out.is_wide ? 0 : output_width();
  for (std::int64_t n = 0; n < places; ++n)
    text += names[at(n)] + "\n" + top_lines(outputs[0], n, args.top, job.labels, width);
  document.people(text);
  document.data("classes", class_table(outputs[0], names, args.top, job.labels));
}

void add_boxes(report::Document &document, const std::vector<Found> &found, const Job &job,
               double threshold) {
  const bool is_empty =
      std::all_of(found.begin(), found.end(), [](const Found &f) { return f.boxes.empty(); });
  report::Table table = box_table(found, job.labels);
  if (!is_empty)
    return document.table("boxes", std::move(table));
  document.people(fmt::format("no box has a score of {} or more\n", threshold));
  document.data("boxes", std::move(table));
}

void run(RunArguments &args) {
  program::Program program;
  check_calibration(args.calibrate, args.model);
  const PictureSettings settings = picture_settings(args.model.model, args.pictures);
  const Job job = make_job(args, settings, program);
  if (args.model.precision == "int8")
    args.model.calibration = calibration_of(args, settings, job, program);
  const OpenedModel opened = open_model(program, args.model);
  std::vector<double> seconds;
  const std::vector<HostTensor> outputs =
      join_runs(compute(*opened.session, job, seconds), job.per_run, job.filled);
  report::Document document = job.notes;
  document.append(describe(opened));
  add_time(document, *opened.session, seconds, job, args.repeat);
  std::vector<Found> found;
  if (settings.detect && !job.images.empty()) {
    found = find_boxes(settings, job.images, describe_inputs(program)[0], outputs);
    add_boxes(document, found, job, settings.detect->threshold);
  } else if (args.output.empty() || args.out.is_json || !args.out.csv.empty()) {
    add_results(document, args, job, outputs);
  }
  std::vector<OutputFile> files;
  if (!args.output.empty()) {
    files = found.empty() ? output_files(outputs, args.output)
                          : box_files(found, job.labels, outputs, args.output);
    for (const OutputFile &file : files)
      document.line("wrote", file.path);
  }
  if (args.verbose)
    document.table("kernels", report::kernel_table(opened.session->profile().kernels));
  print(document, args.out, std::move(files));
  report_passes(*args.model.passes);
}

} // namespace

void add_run(CLI::App &app) {
  auto args = std::make_shared<RunArguments>();
  CLI::App *verb = app.add_subcommand("run", "Run a model on pictures or tensors");
  verb->footer(kExamples);
  add_model_options(*verb, args->model);
  auto *inputs =
      verb->add_option("--input", args->inputs,
                       "Tensor for an input, .npy or .pb; without a name of the next one")
          ->type_name("[NAME=]FILE");
  verb->add_option("--image", args->images, "Pictures (JPEG, PNG, BMP, GIF), or folders of them")
      ->type_name("FILE|DIR")
      ->excludes(inputs);
  add_calibration_options(*verb, args->calibrate, args->model);
  verb->add_option("--labels", args->labels,
                   "Names of the classes, one per line; labels.txt beside the model if not given")
      ->type_name("FILE");
  verb->add_option("--top", args->top, "How many classes are shown (5)")
      ->check(CLI::Range(1, 100000))
      ->type_name("K");
  verb->add_option("--repeat", args->repeat, "Time this many further runs")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  verb->add_option(
          "--output", args->output,
          "Write the outputs: as an array, as a picture (with boxes drawn, of a detector), or each "
          "as NAME.npy into a folder")
      ->type_name("FILE.npy|FILE.png|DIR");
  verb->add_flag("--verbose", args->verbose,
                 "One line per kernel: time, rate, share of the roofline (of arithmetic, of the "
                 "caches that can hold its data, of main memory)");
  add_picture_options(*verb, args->pictures);
  add_output_options(*verb, args->out, true);
  verb->callback([args] { run(*args); });
}

} // namespace tilefuse::tool
