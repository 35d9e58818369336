// SPDX-License-Identifier: Apache-2.0
// Schedules of one group side by side on a device, rounds interleaved: what a form gains before
// search has it. FILE is the text of a group, as `opt --to=group` prints it, and of schedules
// behind it; `--top N` adds the model's first ones. CSV: file, microseconds as predicted, median,
// 10th and 90th percentile, schedule on one line.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/read_file.h"
#include "cost/group_model.h"
#include "layers.h"
#include "poly/group.h"
#include "runtime/make_device.h"
#include "schedule/members.h"
#include "search/pick.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

struct Options {
  std::string device = "cuda";
  std::vector<std::string> files;
  std::size_t top = 0;
  int rounds = 9;
};

// The text in front of the first schedule, then every schedule's.
std::vector<std::string> texts_of(const std::string &text) {
  constexpr std::string_view kHead = "schedule ";
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t next = text.find("\n" + std::string(kHead), begin);
    const std::size_t end = next == std::string::npos ? text.size() : next + 1;
    texts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return texts;
}

std::string on_one_line(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

schedule::Schedule legal_schedule(const poly::Group &group, const std::string &text,
                                  const std::string &file, const Target &target) {
  schedule::Schedule schedule = schedule::parse_schedule(group, text, file);
  if (const std::optional<std::string> reason = illegal(group, schedule, target))
    throw Error(ErrorCode::Unsupported,
                fmt::format("the schedule '{}' does not fit: {}", on_one_line(text), *reason));
  return schedule;
}

void time_file(const Options &options, const std::string &file, runtime::Device &device) {
  const std::vector<std::string> texts = texts_of(read_file(file));
  const poly::Group group = poly::parse_group(texts.at(0), file);
  std::vector<schedule::Schedule> schedules;
  for (std::size_t i = 1; i < texts.size(); ++i)
    schedules.push_back(legal_schedule(group, texts[i], file, device.target()));
  if (options.top > 0)
    for (search::Candidate &each : search::candidates(group.anchor, device.target(), options.top))
      if (!illegal(group, each.schedule, device.target())) // candidates are the anchor's
        schedules.push_back(std::move(each.schedule));
  TimedKernels kernels(group, schedules, device);
  std::vector<Samples> samples(kernels.size());
  for (int round = -1; round < options.rounds; ++round) // the first is not counted
    for (std::size_t k = 0; k < kernels.size(); ++k)
      if (const double seconds = kernels.run(k); round >= 0)
        samples[k].seconds.push_back(seconds * 1e6);
  for (std::size_t k = 0; k < kernels.size(); ++k)
    fmt::print("{},{:.1f},{:.1f},{:.1f},{:.1f},{}\n", file,
               cost::predict(group, schedules[k], device.target()).seconds * 1e6,
               samples[k].at(0.5), samples[k].at(0.1), samples[k].at(0.9),
               on_one_line(schedule::to_text(group, schedules[k])));
}

int run_main(int argc, char **argv) {
  Options options;
  CLI::App app("Times schedules of groups on a device");
  app.add_option("file", options.files, "A group and schedules")->required();
  app.add_option("--device", options.device, "As of `tilefuse run`");
  app.add_option("--top", options.top, "Time so many of the model's first schedules too");
  app.add_option("--rounds", options.rounds, "Timed rounds");
  CLI11_PARSE(app, argc, argv);
  int failed = 0;
  try {
    const auto device = runtime::make_device(options.device, 0, bench_targets());
    for (const std::string &file : options.files)
      try {
        time_file(options, file, *device);
      } catch (const Error &error) {
        std::fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
        failed = 1;
      }
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return failed;
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) { return tilefuse::bench::run_main(argc, argv); }
