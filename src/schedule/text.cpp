// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

std::string factors(const Nest& nest, const Schedule& schedule, std::int64_t Split::*member) {
  std::string text;
  for (std::size_t i = 0; i < schedule.splits.size(); ++i) {
    const bool reduced = static_cast<int>(i) >= nest.output_indices;
    const std::int64_t value = schedule.splits[i].*member;
    if (member == &Split::tile ? !reduced : value > 1)
      text += fmt::format(" {}:{}", nest.indices[i].name, value);
  }
  return text;
}

int find_index(const Nest& nest, Scanner& scanner) {
  const Token token = scanner.peek();
  const std::string name = scanner.expect_name("an index");
  for (std::size_t i = 0; i < nest.indices.size(); ++i)
    if (nest.indices[i].name == name) return static_cast<int>(i);
  throw Error(ErrorCode::Syntax, fmt::format("the nest has no index '{}'", name),
              scanner.where(token));
}

void parse_factors(const Nest& nest, Scanner& scanner, Schedule& schedule,
                   std::int64_t Split::*member, int line) {
  while (scanner.peek().kind == TokenKind::Name && scanner.peek().line == line) {
    const int index = find_index(nest, scanner);
    scanner.expect(":");
    schedule.splits[static_cast<std::size_t>(index)].*member = scanner.expect_integer("a factor");
  }
}

void parse_fill(Scanner& scanner, Schedule& schedule, Fill fill) {
  const Token token = scanner.peek();
  const std::int64_t input = scanner.expect_integer("an input");
  if (input < 0 || static_cast<std::size_t>(input) >= schedule.fills.size())
    throw Error(ErrorCode::Syntax, fmt::format("the nest has no input {}", input),
                scanner.where(token));
  schedule.fills[static_cast<std::size_t>(input)] = fill;
}

void parse_line(const Nest& nest, Scanner& scanner, Schedule& schedule) {
  const int line = scanner.peek().line;
  if (scanner.accept("tile")) return parse_factors(nest, scanner, schedule, &Split::tile, line);
  if (scanner.accept("lane")) return parse_factors(nest, scanner, schedule, &Split::lane, line);
  if (scanner.accept("keep")) return parse_factors(nest, scanner, schedule, &Split::keep, line);
  if (scanner.accept("stage")) return parse_fill(scanner, schedule, Fill::Local);
  if (scanner.accept("pack")) return parse_fill(scanner, schedule, Fill::Packed);
  if (!scanner.accept("loop")) scanner.fail("tile, lane, keep, loop, stage or pack");
  schedule.order.clear();
  while (scanner.peek().kind == TokenKind::Name && scanner.peek().line == line)
    schedule.order.push_back(find_index(nest, scanner));
}

}  // namespace

std::string to_text(const Nest& nest, const Schedule& schedule) {
  std::string text = fmt::format("schedule {} {}\n", schedule.name, to_string(schedule.lanes));
  const auto line = [&](std::string_view word, const std::string& rest) {
    if (!rest.empty()) text += fmt::format("  {:<6}{}\n", word, rest);
  };
  line("tile", factors(nest, schedule, &Split::tile));
  line("lane", factors(nest, schedule, &Split::lane));
  line("keep", factors(nest, schedule, &Split::keep));
  std::string order;
  for (int i : schedule.order) order += " " + nest.indices[static_cast<std::size_t>(i)].name;
  line("loop", order);
  for (std::size_t k = 0; k < schedule.fills.size(); ++k) {
    if (schedule.fills[k] == Fill::Local) line("stage", fmt::format(" {}", k));
    if (schedule.fills[k] == Fill::Packed) line("pack", fmt::format(" {}", k));
  }
  return text;
}

Schedule parse_schedule(const Nest& nest, std::string_view text, const std::string& file) {
  Scanner scanner(text, file);
  Schedule schedule = scalar_schedule(nest);
  scanner.expect("schedule");
  schedule.name = scanner.expect_name("the schedule's name");
  if (scanner.accept(to_string(LaneKind::WorkItem))) {
    schedule.lanes = LaneKind::WorkItem;
  } else {
    scanner.expect(to_string(LaneKind::Vector));
  }
  while (!scanner.at_end()) parse_line(nest, scanner, schedule);
  return schedule;
}

}  // namespace tilefuse::schedule
