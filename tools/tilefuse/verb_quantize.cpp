// SPDX-License-Identifier: Apache-2.0
// `tilefuse quantize`: an f32 model written as one in 8-bit integers (QDQ), and what each product
// costs in accuracy.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "api/int8.h"
#include "base/error.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "picture_options.h"
#include "progress.h"
#include "prose.h"
#include "run_inputs.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

struct QuantizeArguments {
  ModelOptions model;
  std::vector<std::string> calibrate;
  std::string output;
  bool sensitivity = false;
  PictureOptions pictures;
  OutputOptions out;
};

// The products that cost most first.
report::Table sensitivity_table(const api::Int8 &int8) {
  Progress progress("quantising each product");
  std::vector<api::Int8::Sensitivity> rows = int8.sensitivity([&](int done, int total) {
    progress.show(done, total);
    return true;
  });
  std::stable_sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) {
    return a.accuracy.relative_error > b.accuracy.relative_error;
  });
  report::Table table;
  table.columns = {{"error", "relative_error", true},
                   {"same", "equal_rows", true},
                   {"of", "rows", true},
                   {"product alone in int8", "product", false, report::Column::Fit::Cut}};
  for (const api::Int8::Sensitivity &row : rows)
    table.rows.push_back(
        {{fmt::format("{:.2e}", row.accuracy.relative_error), row.accuracy.relative_error},
         report::cell(row.accuracy.equal_rows),
         report::cell(row.accuracy.rows),
         report::cell(row.product)});
  return table;
}

void quantize(QuantizeArguments &args) {
  args.model.precision = "int8";
  const PictureSettings settings = picture_settings(args.model.model, args.pictures);
  const api::Source source = read_source(args.model);
  const program::Program program = import(
      args.model, bind_calibration(args.calibrate, settings.preprocess, source.inputs(args.model)));
  const model::CalibrationInputs calibration = {
      read_calibration(args.calibrate, settings, describe_inputs(program)),
      fmt::format("{} files of --calibrate", args.calibrate.size())};
  const api::Engine engine(args.model.device, args.model, log_to_stderr());
  const api::Int8 int8(source, program, args.model, calibration, engine);
  report::Document document;
  add_prose(document, "precision", int8.applied().text + to_text(int8.accuracy()), kLabel,
            args.out.is_wide);
  if (args.sensitivity)
    document.table("sensitivity", sensitivity_table(int8));
  if (!args.output.empty()) {
    int8.source().write(args.output);
    document.line("wrote", args.output, {{"wrote", args.output}});
  }
  print(document, args.out);
}

} // namespace

void add_quantize(CLI::App &app) {
  auto args = std::make_shared<QuantizeArguments>();
  CLI::App *verb = app.add_subcommand(
      "quantize", "Write a model in 8-bit integers (QDQ), by inputs like those that it will see");
  verb->footer("Example:\n"
               "  tilefuse quantize model.onnx --calibrate photos/*.jpg --output model.int8.onnx\n"
               "What is written is what --precision int8 runs; onnxruntime and TensorRT read it.");
  add_model_options(*verb, args->model);
  add_calibration_options(*verb, args->calibrate, args->model);
  verb->get_option("--calibrate")->required();
  verb->remove_option(verb->get_option("--precision"));
  verb->add_option("--output", args->output, "Write the model there")->type_name("FILE.onnx");
  verb->add_flag("--sensitivity", args->sensitivity,
                 "Quantise each product alone, and list how far results are from f32 then");
  add_picture_options(*verb, args->pictures);
  add_output_options(*verb, args->out, true);
  verb->callback([args] { quantize(*args); });
}

} // namespace tilefuse::tool
