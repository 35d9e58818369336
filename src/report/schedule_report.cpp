// SPDX-License-Identifier: Apache-2.0
#include "report/schedule_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cost/group_model.h"
#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "report/schedule_mapping.h"
#include "schedule/members.h"
#include "search/groups.h"
#include "search/network/layout_choice.h"
#include "search/pick.h"

namespace tilefuse::report {
namespace {

// Who chose the schedule, and which it is.
std::string choice_text(const ExplainedGroup &explained, const poly::Group &group) {
  std::string text = "schedule: " + explained.chosen.by + "\n";
  if (!explained.ignored.empty())
    text += "the tuning record of this device is not used: " + explained.ignored + "\n";
  return text + schedule::to_text(group, explained.chosen.schedule);
}

std::vector<search::Candidate> ranked(const poly::Group &group, const ScheduleOptions &options) {
  if (!is_alone(group) || options.candidates == 0)
    return {};
  return search::candidates(group.anchor, options.target, options.candidates);
}

ExplainedGroup explain(const poly::Group &group, const ScheduleOptions &options, int number,
                       model::Choice chosen, std::optional<MeasuredKernel> measured,
                       const std::vector<search::Candidate> &ranked) {
  ExplainedGroup explained{
      .chosen = std::move(chosen), .ignored = {}, .weighed = {}, .verdict = {}};
  explained.weighed =
      weigh(group, options.target, explained.chosen.schedule, explained.chosen.by, ranked);
  explained.verdict =
      verdict(number, explained.chosen.by == model::kTuned, std::move(measured), explained.weighed);
  explained.verdict.tuned = tuned_times(group, options.records, options.device);
  return explained;
}

} // namespace

ExplainedGroup explain_group(const poly::Group &group, const ScheduleOptions &options, int number) {
  const std::vector<search::Candidate> found = ranked(group, options);
  std::string ignored;
  model::Choice chosen =
      options.device != nullptr
          ? model::choose_schedule(options.records, group, *options.device, &ignored)
          : model::Choice{found.empty() ? search::pick(group, options.target)
                                        : found.front().schedule,
                          "model"};
  std::optional<MeasuredKernel> measured =
      options.device != nullptr ? measure(group, chosen.schedule, *options.device) : std::nullopt;
  ExplainedGroup explained =
      explain(group, options, number, std::move(chosen), std::move(measured), found);
  explained.ignored = std::move(ignored);
  return explained;
}

ExplainedGroup explain_choice(const poly::Group &group, model::Choice chosen,
                              std::optional<MeasuredKernel> measured,
                              const ScheduleOptions &options, int number) {
  return explain(group, options, number, std::move(chosen), std::move(measured),
                 ranked(group, options));
}

std::string to_text(const ExplainedGroup &explained, const poly::Group &group,
                    const ScheduleOptions &options, const std::string &between) {
  const schedule::Schedule &choice = explained.chosen.schedule;
  const nest::Nest &nest = group.anchor;
  std::string text =
      to_text(explained.verdict, options.style) + choice_text(explained, group) + between;
  const auto add = [&](Section section, const auto &make) {
    if (options.sections.count(section) != 0)
      text += heading(section) + make();
  };
  add(Section::Flatten, [&] { return poly::to_text(group) + nest_table(nest); });
  add(Section::Candidates, [&] {
    return to_text(candidate_table(explained.weighed), options.style) +
           cost::explain(cost::predict(group, choice, options.target));
  });
  add(Section::Layout, [&] { return layouts(group, choice); });
  add(Section::Threads, [&] { return mapping(nest, choice); });
  add(Section::Kernel,
      [&] { return kernel::to_text(lower::lower(group, choice, options.target)); });
  return text;
}

Explanation explain_with_model(const program::Program &program, const ScheduleOptions &options) {
  Explanation result;
  const bool with_program = options.sections.count(Section::Program) != 0;
  const search::LaidOut laid = search::lay_out(
      program, options.target, {.layout = options.layout, .split = {.split = options.split}});
  const std::string layout =
      laid.weighed +
      fmt::format("layout {}, {} copies\n", search::layout_name(laid), laid.conversions);
  for (const poly::PlacedGroup &placed : laid.groups) {
    const int number = static_cast<int>(result.size());
    result.push_back(
        {placed.origin, [&program, options, with_program, placed, layout, number] {
           const std::string whole =
               with_program
                   ? heading(Section::Program) +
                         program::to_text(excerpt(program, statements_of(program, placed.origin)))
                   : "";
           return to_text(explain_group(placed.group, options, number), placed.group, options,
                          whole + layout + fmt::format("{}", fmt::join(placed.notes, "")));
         }});
  }
  return result;
}

} // namespace tilefuse::report
