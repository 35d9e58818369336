// SPDX-License-Identifier: Apache-2.0
#include "report/page/pipe_timeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "nest/index.h"

namespace tilefuse::report {
namespace {

using schedule::Footprint;
using schedule::Schedule;
using Kind = TimelineBar::Kind;

constexpr std::size_t kSteps = 5; // of a tile, as many as show the order

// An input that is copied on its way.
struct Copied {
  std::size_t row = 0;
  int stages = 1;
  bool is_once = false;     // the whole of it, before the first step
  std::vector<double> done; // by step
};

std::string name_of(const nest::Nest &nest, const Schedule &schedule, std::size_t input) {
  const schedule::Pipe &pipe = schedule.pipes[input];
  std::string text =
      fmt::format("input {}{}: {}", input, nest.inputs[input].constant ? " (constant)" : "",
                  schedule::kEngines[pipe.engine]);
  if (pipe.footprint != Footprint::Step)
    text += fmt::format(", {}", schedule::kFootprints[pipe.footprint]);
  return text + fmt::format(", {} stage{}", pipe.stages, pipe.stages == 1 ? "" : "s");
}

class Run {
public:
  Run(const nest::Nest &nest, const Schedule &schedule) : instances_(instances(schedule)) {
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      if (!has_core(schedule) && !is_staged(schedule.fills[k]))
        continue;
      const schedule::Pipe &pipe = schedule.pipes[k];
      copied_.push_back(
          {.row = timeline_.rows.size(),
           .stages = std::max(1, pipe.stages),
           .is_once = pipe.footprint == Footprint::Resident || (!has_core(schedule) && !pipe.at),
           .done = {}});
      timeline_.rows.push_back(name_of(nest, schedule, k));
    }
    math_ = timeline_.rows.size();
    for (int i = 0; i < instances_; ++i)
      timeline_.rows.push_back(instances_ == 1 ? "arithmetic"
                                               : fmt::format("arithmetic, group {}", i + 1));
    store_ = timeline_.rows.size();
    timeline_.rows.push_back("store");
  }

  Timeline take() {
    if (copied_.empty())
      return {};
    const std::size_t tiles = static_cast<std::size_t>(instances_);
    for (std::size_t tile = 0; tile < tiles; ++tile)
      for (std::size_t s = 0; s < kSteps; ++s)
        step(tile, s);
    return std::move(timeline_);
  }

private:
  static int instances(const Schedule &schedule) {
    return has_core(schedule) ? std::max(1, schedule.roles.math.instances) : 1;
  }

  void bar(std::size_t row, double begin, double end, Kind kind, std::size_t step) {
    timeline_.bars.push_back({row, begin, end, kind, fmt::format("{}", step)});
    timeline_.length = std::max(timeline_.length, end);
  }

  // When the copy for a step has come, counted over all tiles.
  double copy(Copied &input, std::size_t number) {
    if (input.is_once && !input.done.empty())
      return input.done.front();
    double begin = input.done.empty() ? 0 : input.done.back();
    const auto behind = static_cast<std::size_t>(input.stages);
    if (number >= behind) // its buffer is read until then
      begin = std::max(begin, computed_[number - behind]);
    input.done.push_back(begin + 1);
    bar(input.row, begin, begin + 1, Kind::Copy, number);
    return begin + 1;
  }

  void step(std::size_t tile, std::size_t s) {
    const std::size_t number = tile * kSteps + s;
    double begin = computed_.empty() ? 0 : computed_.back();
    for (Copied &input : copied_)
      begin = std::max(begin, copy(input, number));
    computed_.push_back(begin + 1);
    bar(math_ + tile % static_cast<std::size_t>(instances_), begin, begin + 1, Kind::Compute,
        number);
    if (s + 1 == kSteps)
      bar(store_, begin + 1, begin + 2, Kind::Store, tile);
  }

  int instances_ = 1;
  Timeline timeline_;
  std::vector<Copied> copied_;
  std::size_t math_ = 0;
  std::size_t store_ = 0;
  std::vector<double> computed_; // by number of the step
};

} // namespace

Timeline pipe_timeline(const nest::Nest &nest, const Schedule &schedule) {
  return Run(nest, schedule).take();
}

} // namespace tilefuse::report
