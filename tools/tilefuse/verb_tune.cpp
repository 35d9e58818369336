// SPDX-License-Identifier: Apache-2.0
// `tilefuse tune`: measures schedules on this device and records the best; carries records from
// machine to machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "api/work.h"
#include "base/error.h"
#include "files.h"
#include "model/tune/record_json.h"
#include "model/tune/tune.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "pass_options.h"
#include "progress.h"
#include "prose.h"
#include "recipe_options.h"
#include "train/tune.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

constexpr std::int64_t kImportLimit = std::int64_t{1} << 30;

struct TuneArguments {
  ModelOptions model;
  std::string budget = "60s";
  std::vector<int> kernels;
  OutputOptions out;
  std::string export_file;
  std::vector<std::string> import_files;
};

// "90", "60s", "1.5m", "2h"
double parse_budget(const std::string &text) {
  double seconds = 0;
  const char *last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, seconds);
  const std::string unit(end, last);
  const double scale = unit == "h" ? 3600 : unit == "m" ? 60 : unit.empty() || unit == "s" ? 1 : 0;
  if (failure != std::errc() || scale == 0 || !std::isfinite(seconds) || seconds <= 0)
    throw Error(ErrorCode::Syntax, fmt::format("'{}' is not a time, need 90, 60s, 5m or 2h", text),
                "--budget");
  return seconds * scale;
}

// "12 s of 60, 84 schedules tried, 1.03x so far, at Conv conv1"
std::string progress_text(const model::TuneProgress &now) {
  const double gain = now.best_seconds > 0 ? now.model_seconds / now.best_seconds : 1;
  return fmt::format("{:.0f} s of {:.0f}, {} schedules tried, {:.2f}x so far, at {}", now.elapsed,
                     now.budget, now.tried, gain, now.kernel);
}

report::Table tune_table(const model::TuneReport &report) {
  using Fit = report::Column::Fit;
  report::Table table{.columns = {{"#", "number", true},
                                  {"launches", "launches", true},
                                  {"model us", "model_seconds", true},
                                  {"best us", "best_seconds", true},
                                  {"model/best", "gain", true},
                                  {"tried", "tried", true},
                                  {"best is", "source", false, Fit::Cut},
                                  {"kernel", "name", false, Fit::Wide},
                                  {"nodes", "origin", false, Fit::Cut}},
                      .rows = {},
                      .sums = {}};
  for (const model::TunedKernel &kernel : report.kernels)
    table.rows.push_back(
        {report::cell(std::int64_t{kernel.number}),
         report::cell(std::int64_t{kernel.launches}),
         {fmt::format("{:.1f}", kernel.model_seconds * 1e6), kernel.model_seconds},
         {fmt::format("{:.1f}", kernel.best_seconds * 1e6), kernel.best_seconds},
         report::cell(kernel.model_seconds / kernel.best_seconds, 2),
         report::cell(static_cast<std::int64_t>(kernel.tried)),
         report::cell(kernel.source + (kernel.is_recorded ? "" : " (not recorded)")),
         report::cell(kernel.name, report::Tone::Faint),
         report::cell(kernel.origin)});
  return table;
}

model::TuneReport tune_program(const TuneArguments &args, runtime::Device &device,
                               runtime::KernelCache &cache, runtime::RecordStore &records,
                               model::TuneOptions options, report::Document &document) {
  const model::AppliedPrecision applied = model::apply_precision(
      import(args.model), args.model.precision, device.target(), args.model.passes.get());
  add_prose(document, "precision", applied.summary, kLabel, args.out.is_wide);
  options.layout = args.model.layout;
  options.is_simplified = applied.is_simplified;
  return model::tune_model(applied.program, device, cache, records, options);
}

void tune_file(const TuneArguments &args, runtime::RecordStore &records) {
  std::optional<Progress> progress("tuning");
  const model::TuneOptions options{
      .budget = parse_budget(args.budget),
      .fusion = args.model.fusion,
      .passes = args.model.passes.get(),
      .kernels = args.kernels,
      .progress = [&](const model::TuneProgress &now) { progress->show(progress_text(now)); },
      .warn = warn};
  const auto device =
      api::open_device(args.model.device.empty() ? "cpu" : args.model.device, args.model.threads);
  const auto cache = api::open_cache(args.model, log_to_stderr());
  report::Document document;
  const model::TuneReport report =
      is_recipe(args.model.model) ? train::tune_step(train::read_recipe(args.model.model), *device,
                                                     *cache, records, options)
                                  : tune_program(args, *device, *cache, records, options, document);
  progress.reset();
  document.line("device", fmt::format("{} ({})", device->name(), device->target().name),
                {{"device", device->name()}, {"target", device->target().name}});
  document.text("summary", api::summary(report));
  document.table("kernels", tune_table(report));
  print(document, args.out);
}

void import_records(const TuneArguments &args, runtime::RecordStore &records) {
  std::vector<runtime::TuningRecord> given;
  for (const std::string &file : args.import_files)
    for (runtime::TuningRecord &record :
         model::parse_json_lines(read_file(file, kImportLimit), file))
      given.push_back(std::move(record));
  if (!records.merge(given))
    throw Error(ErrorCode::Io, "the tuning records cannot be written", args.import_files.front());
  std::printf("read     %zu records; the store has %zu\n", given.size(), records.all().size());
}

void tune(const TuneArguments &args) {
  const bool is_carrying = !args.import_files.empty() || !args.export_file.empty();
  if (args.model.model.empty() && !is_carrying)
    throw Error(ErrorCode::Unsupported, "there is nothing to do", {},
                {"need a model to tune, --import or --export"});
  const bool is_reading = args.model.model.empty() && args.import_files.empty();
  const auto records = api::open_records(args.model,
                                         is_reading ? runtime::RecordStore::Mode::Existing
                                                    : runtime::RecordStore::Mode::Create,
                                         log_to_stderr());
  if (!args.import_files.empty())
    import_records(args, *records);
  if (!args.model.model.empty())
    tune_file(args, *records);
  if (args.export_file.empty())
    return;
  const std::vector<runtime::TuningRecord> all = records->all();
  write_files({{args.export_file, model::to_json_lines(all)}});
  std::printf("wrote    %s, %zu records\n", report::printable(args.export_file).c_str(),
              all.size());
}

} // namespace

void add_tune(CLI::App &app) {
  auto args = std::make_shared<TuneArguments>();
  CLI::App *verb = app.add_subcommand(
      "tune", "Measure schedules on this device and record the best; run and bench use them");
  verb->footer(
      "Examples:\n"
      "  tilefuse tune model.onnx --device cpu --budget 60s\n"
      "  tilefuse tune recipe.toml --device cuda --budget 10m    the gradients of its step\n"
      "  tilefuse tune --export records.jsonl\n"
      "  tilefuse tune --import records.jsonl\n"
      "What was tried is noted as it goes: started again, tuning goes on where it was.");
  add_model_options(*verb, args->model);
  verb->get_option("model")->required(false);
  for (const char *other : {"--algorithm", "--dump", "--split"})
    verb->remove_option(verb->get_option(other));
  verb->add_option("--budget", args->budget, "Time in all: 90, 60s, 5m or 2h")->type_name("TIME");
  verb->add_option("--kernel", args->kernels,
                   "Only the kernels with these numbers, in launch order from 0")
      ->type_name("N");
  add_output_options(*verb, args->out, true);
  verb->add_option("--export", args->export_file, "Write all records there, as JSON lines")
      ->type_name("FILE");
  verb->add_option("--import", args->import_files,
                   "Merge records from there: of one device, the faster verified one stays")
      ->type_name("FILE");
  verb->callback([args, verb] {
    static constexpr std::array kKnown = {"--budget", "--kernel", "--export", "--import", "--fuse"};
    if (is_recipe(args->model.model))
      check_recipe_options(*verb, kKnown);
    tune(*args);
    report_passes(*args->model.passes);
  });
}

} // namespace tilefuse::tool
