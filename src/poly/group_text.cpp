// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "poly/group.h"

namespace tilefuse::poly {
namespace {

constexpr std::string_view kHeader = "group\nanchor ";

constexpr auto kFeeds = words<Feed>({{Feed::Map, "map"},
                                     {Feed::Produce, "produce"},
                                     {Feed::Spread, "spread"},
                                     {Feed::Rows, "rows"}});

Feed parse_feed(Scanner &scanner) {
  for (const auto &[feed, name] : kFeeds.rows)
    if (scanner.accept(name))
      return feed;
  scanner.fail("map, produce, spread or rows");
}

std::string to_text(const Producer &producer) {
  std::string text = fmt::format("{} input {} of {} slots", kFeeds[producer.feed], producer.input,
                                 producer.consumer);
  for (const SlotId slot : producer.slots)
    text += fmt::format(" {}", slot);
  if (producer.stored)
    text += " stored";
  return text + "\n" + nest::to_text(producer.nest);
}

std::string to_text(const TileSum &sum) {
  std::string text = "sum slots";
  for (const SlotId slot : sum.slots)
    text += fmt::format(" {}", slot);
  return text + "\n" + nest::to_text(sum.nest);
}

int parse_number(Scanner &scanner, const char *what) {
  constexpr std::int64_t kMost = 1 << 16;
  const std::int64_t number = scanner.expect_integer(what);
  if (number < 0 || number >= kMost)
    scanner.fail(fmt::format("{} below {} before this", what, kMost));
  return static_cast<int>(number);
}

Producer parse_producer(Scanner &scanner) {
  Producer producer;
  producer.feed = parse_feed(scanner);
  scanner.expect("input");
  producer.input = parse_number(scanner, "an input's number");
  scanner.expect("of");
  producer.consumer = MemberId{parse_number(scanner, "a member's number")};
  scanner.expect("slots");
  while (!scanner.is("nest") && !scanner.is("stored"))
    producer.slots.push_back(SlotId{parse_number(scanner, "a slot's number")});
  producer.stored = scanner.accept("stored");
  producer.nest = nest::parse_nest(scanner);
  return producer;
}

TileSum parse_sum(Scanner &scanner) {
  TileSum sum;
  scanner.expect("slots");
  while (!scanner.is("nest"))
    sum.slots.push_back(SlotId{parse_number(scanner, "a slot's number")});
  sum.nest = nest::parse_nest(scanner);
  return sum;
}

} // namespace

std::string to_text(const Group &group) {
  std::string text = std::string(kHeader) + nest::to_text(group.anchor);
  for (const Producer &producer : group.producers)
    text += to_text(producer);
  for (const TileSum &sum : group.sums)
    text += to_text(sum);
  return text;
}

Group parse_group(std::string_view text, const std::string &file) {
  if (!text.starts_with(kHeader))
    throw Error(ErrorCode::Syntax, "expected 'group' and 'anchor' before the nest", file + ":1:1");
  text.remove_prefix(kHeader.size());
  Scanner scanner(text, file);
  Group group{nest::parse_nest(scanner), {}};
  while (!scanner.at_end() && !scanner.is("sum"))
    group.producers.push_back(parse_producer(scanner));
  while (scanner.accept("sum"))
    group.sums.push_back(parse_sum(scanner));
  if (!scanner.at_end())
    scanner.fail("no producer behind a sum");
  verify(group);
  return group;
}

} // namespace tilefuse::poly
