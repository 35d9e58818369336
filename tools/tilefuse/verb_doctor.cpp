// SPDX-License-Identifier: Apache-2.0
// `tilefuse doctor`: a conformance run on the user's own driver, as a report to paste into a bug.
#include <filesystem>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "exit_code.h"
#include "files.h"
#include "model/oracle/conformance.h"
#include "model/oracle/measure_device.h"
#include "model_options.h"
#include "output.h"
#include "progress.h"
#include "target/measured_rows.h"
#include "verb.h"
#include "version.h"

namespace tilefuse::tool {
namespace {

struct DoctorArguments {
  std::string device = "cpu";
  int threads = 0;
  double seconds = 115; // and the start
  std::string reproducers = ".";
  bool calibrates = false;
  std::string row; // the file that calibration writes; "": in the user's folder
  OutputOptions out;
};

constexpr double kExpected = 0.3; // of the peak, that a plain product or copy reaches

double peak_gflops(const Ceilings &peak) { return peak.flops_per_s * 1e-9; }
// Of memory.
double peak_gbytes(const Ceilings &peak) {
  return peak.levels.empty() ? 0 : peak.levels.back().bytes_per_s * 1e-9;
}

// "84.1 GFLOP/s, 41 % of this machine's peak"
void add_rate(report::Document &document, const std::string &what, double measured, double peak,
              const std::string &unit) {
  const double share = peak > 0 ? measured / peak : 0;
  document.line(what,
                fmt::format("{:.1f} {}, {:.0f} % of the {:.1f} that this device is taken to reach",
                            measured, unit, 100 * share, peak),
                {{what + "_rate", measured}, {what + "_peak", peak}});
}

// Whose rates the cost model reckons with, where it is not the device's own row.
void add_rates(report::Document &document, const Target &target) {
  if (target.lanes == LaneKind::Vector || target.rates_like == target.name)
    return;
  document.line("rates", target.rates_like.empty() ? "none: choices of schedules mean nothing"
                                                   : "those of " + target.rates_like);
}

std::string verdict(const model::ConformanceReport &report, const Ceilings &peak) {
  if (!report.faults.empty())
    return fmt::format("WRONG: {} kernels compute something else than the reference",
                       report.faults.size());
  std::string text = "OK: every kernel agrees with the reference";
  const bool is_slow = report.gflops < kExpected * peak_gflops(peak) ||
                       report.gbytes_per_s < kExpected * peak_gbytes(peak);
  if (is_slow)
    text += "; slower than it should be: is the machine busy, or its clock held down?";
  return text;
}

report::Document report_of(runtime::Device &device, const model::ConformanceReport &report) {
  const Target &target = device.target();
  const Ceilings peak = device.ceilings();
  report::Document document;
  document.line("tilefuse", version_line(), {{"version", version_line()}});
  document.line("device", device.name(), {{"device", device.name()}});
  document.line("driver", device.driver(), {{"driver", device.driver()}});
  document.line("target", target.name, {{"target", target.name}});
  document.line("cases",
                fmt::format("{} fixed, {} random: {}{}", report.fixed, report.sampled,
                            report.faults.empty() ? std::string("all agree with the reference")
                                                  : fmt::format("{} wrong", report.faults.size()),
                            report.refusals.empty()
                                ? ""
                                : fmt::format(", {} refused", report.refusals.size())),
                {{"cases_fixed", std::int64_t{report.fixed}},
                 {"cases_random", std::int64_t{report.sampled}},
                 {"cases_wrong", static_cast<std::int64_t>(report.faults.size())},
                 {"cases_refused", static_cast<std::int64_t>(report.refusals.size())}});
  add_rate(document, "fma", report.gflops, peak_gflops(peak), "GFLOP/s");
  add_rate(document, "copy", report.gbytes_per_s, peak_gbytes(peak), "GB/s");
  add_rates(document, target);
  document.line("verdict", verdict(report, peak),
                {{"is_right", report.faults.empty()}, {"verdict", verdict(report, peak)}});
  // One line per case that the driver refuses: it takes part in no verdict.
  for (const model::ConformanceRefusal &refusal : report.refusals)
    document.line("refused", refusal.what + ": " + refusal.why);
  return document;
}

// One line per fault, and its case as a file.
std::vector<OutputFile> add_faults(report::Document &document, const DoctorArguments &args,
                                   const model::ConformanceReport &report) {
  std::vector<OutputFile> files;
  for (std::size_t i = 0; i < report.faults.size(); ++i) {
    const model::ConformanceFault &fault = report.faults[i];
    files.push_back(
        {fmt::format("{}/doctor_{}.case", args.reproducers, i), to_text(fault.reproducer)});
    document.line("wrong", fmt::format("{}: {}: {}; tilefuse verify {} --device {} repeats it",
                                       fault.what, fault.divergence.stage, fault.divergence.what,
                                       files.back().path, args.device));
  }
  return files;
}

std::string row_file(const DoctorArguments &args, const std::string &name) {
  if (!args.row.empty())
    return args.row;
  const std::string folder = measured_folder();
  if (folder.empty())
    throw Error(ErrorCode::Io, "there is no home to keep the row in, need --row FILE");
  std::filesystem::create_directories(folder);
  return fmt::format("{}/{}.toml", folder, name);
}

// Measures the device and keeps its row, which is used from the next start on.
void calibrate(const DoctorArguments &args, runtime::Device &device) {
  model::DeviceMeasurement measured;
  {
    Progress progress("measuring");
    measured =
        model::measure_device(device, [&](int done, int total) { progress.show(done, total); });
  }
  report::Document document;
  document.line("device", device.name(), {{"device", device.name()}});
  for (const model::MeasuredFigure &figure : measured.figures)
    document.line(
        "measured",
        fmt::format("{} {:.4g}, stated {:.4g}", figure.key, figure.measured, figure.stated),
        {{figure.key, figure.measured}, {figure.key + "_stated", figure.stated}});
  const std::string file = row_file(args, measured.row.target.name);
  document.line("row", file, {{"row", file}});
  print(document, args.out, {{file, to_toml(measured.row, measured.like)}});
}

void doctor(const DoctorArguments &args) {
  const auto device = api::open_device(args.device, args.threads);
  if (args.calibrates || !args.row.empty())
    return calibrate(args, *device);
  model::ConformanceReport report;
  {
    Progress progress("checking");
    report = model::run_conformance(
        *device, {.seconds = args.seconds,
                  .progress = [&](int done, int total) { progress.show(done, total); }});
  }
  report::Document document = report_of(*device, report);
  std::vector<OutputFile> files = add_faults(document, args, report);
  print(document, args.out, std::move(files));
  if (!report.faults.empty())
    end_with_wrong_kernel(
        Error(ErrorCode::Device,
              fmt::format("{} kernels compute something else than the reference on this device",
                          report.faults.size()),
              device->name(), {"please report the text above with the files it names"}));
}

} // namespace

void add_doctor(CLI::App &app) {
  auto args = std::make_shared<DoctorArguments>();
  CLI::App *verb = app.add_subcommand(
      "doctor", "Check this machine's driver against the reference, and its speed");
  verb->footer("Example:\n  tilefuse doctor --device opencl\n"
               "  tilefuse doctor --device opencl --calibrate");
  verb->add_option("--device", args->device, "As for run; the cpu when not said")
      ->type_name("DEVICE");
  add_threads_option(*verb, args->threads);
  verb->add_option("--seconds", args->seconds, "How long random cases run")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("S");
  verb->add_flag("--calibrate", args->calibrates,
                 "Measure this device, which should be idle, in place of the check, and keep its "
                 "figures as a row that "
                 "the cost model uses from then on");
  verb->add_option("--row", args->row,
                   "The file that --calibrate writes; in TILEFUSE_DEVICES if not given")
      ->type_name("FILE");
  verb->add_option("--reproducers", args->reproducers, "Folder for the cases that fail")
      ->type_name("DIR");
  add_output_options(*verb, args->out, false);
  verb->callback([args] { doctor(*args); });
}

} // namespace tilefuse::tool
