// SPDX-License-Identifier: Apache-2.0
#include "launch/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "base/take_to.h"
#include "schedule/members.h"

namespace tilefuse::launch {
namespace {

constexpr std::string_view kHeader = "launch\n";
// What parts of it begin with, behind the end of a line.
constexpr std::string_view kPart = "\npart ";
constexpr std::string_view kGroup = "\ngroup\n";
constexpr std::string_view kSchedule = "\nschedule ";
constexpr std::string_view kJoin = "\njoin\n";

constexpr std::array kPlaces = {Place::Blocks, Place::Dealt, Place::Between, Place::InStep,
                                Place::Following};

std::string to_text(const Part &part) {
  std::string text = fmt::format("part {}\nbuffers", to_string(part.place));
  for (const program::BufferId buffer : part.placed.buffers)
    text += fmt::format(" {}", to_int(buffer));
  return text + "\n" + poly::to_text(part.placed.group) +
         schedule::to_text(part.placed.group, part.schedule);
}

std::string to_text(const schedule::TileWalk &walk) {
  std::string text = "join\ndigits";
  for (const schedule::TileDigit &digit : walk.digits)
    text += digit.index ? fmt::format(" {}:{}", *digit.index, digit.count)
                        : fmt::format(" part:{}", digit.count);
  return text + fmt::format("\nblocks {}\ngrid {}\nfirst {}\n", fmt::join(walk.blocks, " "),
                            fmt::join(walk.grid, " "), walk.first_item);
}

Place parse_place(Scanner &scanner) {
  scanner.expect("part");
  std::string name = scanner.expect_name("where the part runs");
  if (name == "in")
    name += " " + scanner.expect_name("step");
  for (const Place place : kPlaces)
    if (name == to_string(place))
      return place;
  scanner.fail("blocks, dealt, between, in step or following before this");
}

std::vector<std::int64_t> parse_numbers(Scanner &scanner, std::string_view word) {
  scanner.expect(word);
  std::vector<std::int64_t> numbers;
  while (scanner.peek().kind == TokenKind::Integer)
    numbers.push_back(scanner.expect_integer("a number"));
  return numbers;
}

// The text begins with "part".
Part parse_part(std::string_view text, const std::string &file) {
  const std::string_view head = take_to(text, kGroup);
  Scanner scanner(head, file);
  Part part{.placed = {}, .schedule = {}, .place = parse_place(scanner)};
  for (const std::int64_t buffer : parse_numbers(scanner, "buffers")) {
    if (buffer > std::numeric_limits<int>::max())
      scanner.fail("smaller numbers of buffers before this");
    part.placed.buffers.push_back(program::BufferId{static_cast<int>(buffer)});
  }
  if (!scanner.at_end())
    scanner.fail("a group");
  part.placed.group = poly::parse_group(take_to(text, kSchedule), file);
  part.schedule = schedule::parse_schedule(part.placed.group, text, file);
  return part;
}

schedule::TileWalk parse_walk(std::string_view text, const std::string &file) {
  Scanner scanner(text, file);
  schedule::TileWalk walk;
  scanner.expect("join");
  scanner.expect("digits");
  while (!scanner.is("blocks")) {
    std::optional<schedule::IndexId> index;
    if (!scanner.accept("part"))
      index = static_cast<schedule::IndexId>(scanner.expect_integer("an output index"));
    scanner.expect(":");
    walk.digits.push_back({index, scanner.expect_integer("how many")});
  }
  walk.blocks = parse_numbers(scanner, "blocks");
  walk.grid = parse_numbers(scanner, "grid");
  scanner.expect("first");
  walk.first_item = scanner.expect_integer("a work-item");
  if (!scanner.at_end())
    scanner.fail("the end");
  return walk;
}

} // namespace

std::string to_text(const Launch &launch) {
  std::string text(kHeader);
  for (const Part &part : launch.parts)
    text += to_text(part);
  return launch.join ? text + to_text(*launch.join) : text;
}

Launch parse_launch(std::string_view text, const std::string &file) {
  if (!text.starts_with(kHeader))
    throw Error(ErrorCode::Syntax, "a launch begins with the line 'launch'", file);
  text.remove_prefix(kHeader.size() - 1);
  std::string_view parts = take_to(text, kJoin);
  Launch launch;
  parts.remove_prefix(std::min<std::size_t>(1, parts.size()));
  while (!parts.empty())
    launch.parts.push_back(parse_part(take_to(parts, kPart), file));
  if (!text.empty())
    launch.join = parse_walk(text, file);
  return launch;
}

} // namespace tilefuse::launch
