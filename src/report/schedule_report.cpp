// SPDX-License-Identifier: Apache-2.0
#include "report/schedule_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cost/group_model.h"
#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "model/tune/records.h"
#include "report/candidates.h"
#include "report/schedule_mapping.h"
#include "report/verdict.h"
#include "schedule/text.h"
#include "search/network/layout_choice.h"
#include "search/pick.h"

namespace tilefuse::report {
namespace {

// Statements that a group came from: those whose origin is a part of its own.
std::vector<std::size_t> statements_of(const program::Program &program,
                                       const poly::PlacedGroup &placed) {
  std::vector<std::size_t> statements;
  for (std::size_t s = 0; s < program.statements.size(); ++s) {
    const std::string &origin = program.statements[s].origin;
    if ((" + " + placed.origin + " + ").find(" + " + origin + " + ") != std::string::npos)
      statements.push_back(s);
  }
  return statements;
}

// On a device: who chose the schedule, and where that is not the cost model, which it is.
std::string choice_text(const nest::Nest &nest, const model::Choice &chosen,
                        const std::string &ignored) {
  std::string text = "schedule: " + chosen.by + "\n";
  if (!ignored.empty())
    text += "the tuning record of this device is not used: " + ignored + "\n";
  return text + schedule::to_text(nest, chosen.schedule);
}

} // namespace

ExplainedGroup explain_group(const poly::Group &group, const ScheduleOptions &options, int number) {
  const nest::Nest &nest = group.anchor;
  const std::vector<search::Candidate> ranked =
      search::candidates(nest, options.target, options.candidates);
  model::Choice chosen = {ranked.front().schedule, "model"};
  std::string ignored;
  if (options.device != nullptr)
    chosen = model::choose_schedule(options.records, group, *options.device, &ignored);
  if (options.tf32 && group.producers.empty())
    if (std::optional<schedule::Schedule> rounded = search::pick_tf32(nest, options.target))
      chosen = {std::move(*rounded), "model, tf32 allowed"};
  const schedule::Schedule &choice = chosen.schedule;
  ExplainedGroup explained;
  if (options.device != nullptr)
    explained.verdict = verdict({.number = number,
                                 .is_tuned = chosen.by == model::kTuned,
                                 .predicted = cost::predict(group, choice, options.target),
                                 .measured = measure(group, choice, *options.device)}) +
                        choice_text(nest, chosen, ignored);
  const auto add = [&](Section section, const auto &make) {
    if (options.sections.count(section) != 0)
      explained.sections += heading(section) + make();
  };
  add(Section::Flatten, [&] { return poly::to_text(group) + nest_table(nest); });
  add(Section::Candidates, [&] {
    return candidates_text(nest, options.target, ranked, choice == ranked.front().schedule);
  });
  add(Section::Layout, [&] { return layouts(nest, choice); });
  add(Section::Threads, [&] { return mapping(nest, choice); });
  add(Section::Kernel,
      [&] { return kernel::to_text(lower::lower(group, choice, options.target)); });
  return explained;
}

Explanation explain_with_model(const program::Program &program, const ScheduleOptions &options) {
  Explanation result;
  const bool with_program = options.sections.count(Section::Program) != 0;
  const search::LaidOut laid = search::lay_out(
      program, options.target, {.layout = options.layout, .split = {.split = options.split}});
  const std::string layout = laid.weighed + fmt::format("layout {}, {} copies\n",
                                                        to_string(laid.layout), laid.conversions);
  for (const poly::PlacedGroup &placed : laid.groups) {
    const int number = static_cast<int>(result.size());
    result.push_back({placed.origin, [&program, options, with_program, placed, layout, number] {
                        const std::string whole =
                            with_program ? heading(Section::Program) +
                                               program::to_text(
                                                   excerpt(program, statements_of(program, placed)))
                                         : "";
                        const ExplainedGroup group = explain_group(placed.group, options, number);
                        return group.verdict + whole + layout +
                               fmt::format("{}", fmt::join(placed.notes, "")) + group.sections;
                      }});
  }
  return result;
}

} // namespace tilefuse::report
