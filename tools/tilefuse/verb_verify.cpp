// SPDX-License-Identifier: Apache-2.0
// `tilefuse verify`: every kernel of a model against the reference, or one stored case again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "api/work.h"
#include "base/error.h"
#include "exit_code.h"
#include "files.h"
#include "model/oracle/verify.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "pass_options.h"
#include "progress.h"
#include "prose.h"
#include "recipe_options.h"
#include "run_inputs.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "train/recipe.h"
#include "train/verify.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;

struct VerifyArguments {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::int64_t samples = 256;
  std::string reproducer;
  OutputOptions out;
};

// The report with the fault, then the error.
[[noreturn]] void diverged(const VerifyArguments &args, const std::string &where,
                           const model::Divergence &divergence, std::vector<std::string> notes) {
  report::Document document;
  document.line("verdict", "",
                {{"is_right", false},
                 {"where", where},
                 {"stage", divergence.stage},
                 {"what", divergence.what}});
  if (args.out.is_json)
    print(document, args.out);
  end_with_wrong_kernel(
      Error(ErrorCode::Device, divergence.stage + ": " + divergence.what, where, std::move(notes)));
}

// What was found right, beside "kernels  31 agree with the reference; …".
void add_verdict(report::Document &document, const model::VerifyReport &report,
                 const std::string &device, const VerifyArguments &args) {
  add_prose(document, "summary", api::verdict(report, device, args.samples), kLabel,
            args.out.is_wide);
  document.line("verdict", "",
                {{"is_right", true},
                 {"kernels", std::int64_t{report.kernels}},
                 {"compared", report.compared},
                 {"largest_share_of_bound", report.largest_share}});
}

// A stored case: simulated after every pass, and run on the device when one is asked for.
void verify_case(const VerifyArguments &args, const std::string &text) {
  const model::KernelCase stored = model::parse_case(text, args.model.model);
  if (const auto reason = schedule::illegal(stored.group, stored.schedule, stored.target))
    throw Error(ErrorCode::Unsupported, "the schedule is not legal: " + *reason, args.model.model);
  const model::Reference reference(stored, args.samples);
  if (const auto divergence = model::check_simulated(reference))
    diverged(args, args.model.model, *divergence, {});
  std::string said = "the simulator agrees after every pass";
  if (!args.model.device.empty()) {
    const auto device = api::open_device(args.model.device, args.model.threads);
    if (const auto divergence = model::check_on_device(reference, *device))
      diverged(args, args.model.model, *divergence, {});
    said += "; " + device->name() + " agrees";
  }
  report::Document document;
  document.line("verdict", said, {{"is_right", true}});
  print(document, args.out);
}

std::vector<HostTensor> read_inputs(const VerifyArguments &args, const program::Program &program) {
  std::vector<NamedTensor> given;
  for (const std::string &argument : args.inputs)
    given.push_back(read_input(argument));
  return given.empty() ? std::vector<HostTensor>()
                       : match_inputs(std::move(given), describe_inputs(program));
}

void report_fault(const VerifyArguments &args, const model::KernelFault &fault) {
  std::vector<std::string> notes = {fmt::format("kernel {} is {}", fault.kernel, fault.name),
                                    fault.bisection};
  if (args.reproducer.empty()) {
    notes.push_back("--reproducer FILE writes this kernel as a case that verify runs again");
  } else {
    write_files({{args.reproducer, to_text(fault.reproducer)}});
    notes.push_back(fmt::format("tilefuse verify {} repeats it", args.reproducer));
  }
  diverged(args, fault.origin, fault.divergence, notes);
}

void verify_onnx(const VerifyArguments &args) {
  const api::Engine engine(args.model.device.empty() ? "cpu" : args.model.device, args.model,
                           log_to_stderr());
  const program::Program imported = import(args.model);
  model::CalibrationInputs calibration{{}, "the inputs verified with"};
  if (!args.inputs.empty())
    calibration.runs = {read_inputs(args, imported)};
  const model::AppliedPrecision applied =
      api::with_precision(read_source(args.model), imported, args.model, calibration, engine);
  const program::Program &program = applied.program;
  model::VerifyReport report;
  {
    Progress progress("verifying");
    report = model::verify_model(
        program, read_inputs(args, program), *engine.device, *engine.cache,
        {.samples = args.samples,
         .session = api::session_options(args.model, applied, engine.records.get(), warn),
         .progress = [&](int done, int total) { progress.show(done, total); }});
  }
  if (report.fault)
    report_fault(args, *report.fault);
  report::Document document;
  if (!applied.summary.empty())
    add_prose(document, "precision", applied.summary, kLabel, args.out.is_wide);
  add_verdict(document, report, engine.device->name(), args);
  print(document, args.out);
}

void verify_recipe(const VerifyArguments &args) {
  const api::Engine engine(args.model.device.empty() ? "cpu" : args.model.device, args.model,
                           log_to_stderr());
  train::StepVerification report;
  {
    Progress progress("verifying");
    report =
        train::verify_step(train::read_recipe(args.model.model), *engine.device, *engine.cache,
                           {.samples = args.samples,
                            .session = {.fusion = args.model.fusion},
                            .progress = [&](int done, int total) { progress.show(done, total); }});
  }
  report::Document document;
  for (const model::VerifyReport *part : {&report.gradients, &report.update}) {
    if (part->fault)
      report_fault(args, *part->fault);
    add_verdict(document, *part, engine.device->name(), args);
  }
  print(document, args.out);
}

void verify(const VerifyArguments &args) {
  if (is_recipe(args.model.model))
    return verify_recipe(args);
  const std::string text = read_file(args.model.model);
  if (model::is_case(text))
    return verify_case(args, text);
  verify_onnx(args);
  report_passes(*args.model.passes);
}

} // namespace

void add_verify(CLI::App &app) {
  auto args = std::make_shared<VerifyArguments>();
  CLI::App *verb = app.add_subcommand(
      "verify", "Check every kernel of a model, of a recipe's training step, or a stored case, "
                "against the reference");
  verb->footer("Examples:\n  tilefuse verify model.onnx --device opencl --reproducer fault.case\n"
               "  tilefuse verify recipe.toml --device cuda\n"
               "  tilefuse verify fault.case");
  add_model_options(*verb, args->model);
  verb->add_option("--input", args->inputs,
                   "Tensor for an input, .npy or .pb; random when not said")
      ->type_name("[NAME=]FILE");
  verb->add_option("--samples", args->samples, "Results compared per kernel at most; 0: all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->type_name("N");
  verb->add_option("--reproducer", args->reproducer, "Write the first wrong kernel there")
      ->type_name("FILE");
  add_output_options(*verb, args->out, false);
  verb->callback([args, verb] {
    static constexpr std::array kKnown = {"--samples", "--reproducer", "--fuse"};
    if (is_recipe(args->model.model))
      check_recipe_options(*verb, kKnown);
    verify(*args);
  });
}

} // namespace tilefuse::tool
