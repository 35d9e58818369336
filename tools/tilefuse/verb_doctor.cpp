// SPDX-License-Identifier: Apache-2.0
// `tilefuse doctor`: a conformance run on the user's own driver, as a report to paste into a bug.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "files.h"
#include "lower/pipeline.h"
#include "model/oracle/conformance.h"
#include "model_options.h"
#include "progress.h"
#include "table.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

struct DoctorArguments {
  std::string device = "cpu";
  int threads = 0;
  double seconds = 115; // and the start
  std::string reproducers = ".";
};

std::string rate_line(const char *what, double measured, double row, const char *unit) {
  return fmt::format("{:<9}{:.1f} {}; the device's row says {:.1f} ({:.0f} %)\n", what, measured,
                     unit, row, 100 * measured / row);
}

// Whose rates the cost model reckons with, where it is not the device's own row.
std::string rates_line(const Target &target) {
  if (target.lanes == LaneKind::Vector || target.rates_like == target.name)
    return "";
  return fmt::format("rates    {}\n", target.rates_like.empty()
                                          ? "none: choices of schedules mean nothing"
                                          : "those of " + target.rates_like);
}

std::string report_text(const runtime::Device &device, const model::ConformanceReport &report) {
  const Target &target = device.target();
  std::string text = fmt::format(
      "tilefuse {} (code {})\ndevice   {}\ndriver   {}\ntarget   {}\ncases    {} fixed, {} random: "
      "{}{}\n",
      TILEFUSE_VERSION, lower::code_version().substr(0, 12), device.name(), device.driver(),
      target.name, report.fixed, report.sampled,
      report.faults.empty() ? std::string("all agree with the reference")
                            : fmt::format("{} wrong", report.faults.size()),
      report.refusals.empty() ? "" : fmt::format(", {} refused", report.refusals.size()));
  text += rate_line("fma", report.gflops, target.gflops_per_unit * target.compute_units, "GFLOP/s");
  text += rate_line("copy", report.gbytes_per_s, target.gbytes_per_s, "GB/s");
  return text + rates_line(target);
}

// One line per case that the driver refuses: it takes part in no verdict.
std::string refusal_text(const model::ConformanceReport &report) {
  std::string text;
  for (const model::ConformanceRefusal &refusal : report.refusals)
    text += fmt::format("refused  {}: {}\n", refusal.what, refusal.why);
  return text;
}

// One line per fault, and its case as a file.
std::string fault_text(const DoctorArguments &args, const model::ConformanceReport &report) {
  std::string text;
  std::vector<OutputFile> files;
  for (std::size_t i = 0; i < report.faults.size(); ++i) {
    const model::ConformanceFault &fault = report.faults[i];
    files.push_back(
        {fmt::format("{}/doctor_{}.case", args.reproducers, i), to_text(fault.reproducer)});
    text += fmt::format("wrong    {}: {}: {}\n         tilefuse verify {} --device {} repeats it\n",
                        fault.what, fault.divergence.stage, fault.divergence.what,
                        files.back().path, args.device);
  }
  write_files(files);
  return text;
}

void doctor(const DoctorArguments &args) {
  const auto device = api::open_device(args.device, args.threads);
  model::ConformanceReport report;
  {
    Progress progress("checking");
    report = model::run_conformance(
        *device, {.seconds = args.seconds,
                  .progress = [&](int done, int total) { progress.show(done, total); }});
  }
  const std::string text =
      report_text(*device, report) + refusal_text(report) + fault_text(args, report);
  std::fputs(printable(text).c_str(), stdout);
  if (!report.faults.empty())
    throw Error(ErrorCode::Device,
                fmt::format("{} kernels compute something else than the reference on this device",
                            report.faults.size()),
                device->name(), {"please report the text above with the files it names"});
}

} // namespace

void add_doctor(CLI::App &app) {
  auto args = std::make_shared<DoctorArguments>();
  CLI::App *verb = app.add_subcommand(
      "doctor", "Check this machine's driver against the reference, and its speed");
  verb->footer("Example:\n  tilefuse doctor --device opencl");
  verb->add_option("--device", args->device, "As for run; the cpu when not said")
      ->type_name("DEVICE");
  add_threads_option(*verb, args->threads);
  verb->add_option("--seconds", args->seconds, "How long random cases run")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("S");
  verb->add_option("--reproducers", args->reproducers, "Folder for the cases that fail")
      ->type_name("DIR");
  verb->callback([args] { doctor(*args); });
}

} // namespace tilefuse::tool
