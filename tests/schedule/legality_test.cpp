// SPDX-License-Identifier: Apache-2.0
// Every rule of src/schedule refuses what breaks it: for each refusal that the sources can say
// there is a schedule, one edit away from a legal one, that is refused with it (refusals.cases), or
// it is listed here as not yet provoked.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "paths.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/refusal_cases.h"
#include "schedule/refusal_texts.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using namespace std::string_view_literals;

// Files whose sentences say something else: the parser (text_test.cpp) and names of forms.
constexpr auto kOtherFiles = std::to_array<std::string_view>({"text.cpp"});

// Sentences that are no refusals of a schedule.
constexpr auto kNoRefusals = std::to_array<std::string_view>({
    "algorithms are {}, {}",                                  // a note
    "a matrix instruction for what is not a sum of products", // an internal check
});

constexpr auto kNotYetProvoked = std::to_array<std::string_view>({
    "the data is packed",
    "a turned filter is packed",
    "wgmma maps data, and filters beside turned data, that do not lie in blocks",
    "member {} is stored beside a ring",
    "input {} is gathered, not copied",
    "input {} is packed and computed by a map",
    "member {} reads nothing that a ring could hold",
    "taps move a window where no pixel does",
    "the ring of a core instruction is filled by copies and maps of them",
    "it is no map",
    "it does not feed the anchor",
    "a producer's inputs are straight",
    "a producer's schedule has no producers",
    "it has no dimensions",
    "a producer's {} rolls through {} tiles; one fills the buffer",
    "rows of input {} cannot stay: no single dimension of it moves onward with {}",
    "blocks of the target cannot count themselves in",
    "blocks run in clusters",
    "groups of warps leave no registers to join with",
    "a block takes several tiles",
    "columns are padded to panels",
    "a block computes several parts",
    "parts are computed as points of a tile",
    "points of a tile do not lie in a row in the result",
    "an index of the result is in no tile",
    "steps run over the end of a part of the reduction in both inputs",
    "wgmma's data is turned, and its filter is not",
    "a box of {} dimensions; a tensor map has {}",
    "a tap moves the depth",
    "no pixel index steps from block to block of the depth",
    "a block of the depth is longer than a step",
    "steps of several blocks run over the end of the depth",
    "channels in blocks do not lie one after another in the filter",
    "a tap walks the filter backwards",
    "taps of the filter lie further apart than its channels",
    "it is in more parts than a tensor map has dimensions",
    "two pixel indices share a subscript of the data",
    "parts of the reduction do not lie around its slowest index",
    "it is in parts of several indices",
    "the copy's lines are no dimensions of a window",
    "a copy spreads to the data alone",
    "runs of {} by steps of {}, which are not one of whole units of {}",
    "{} elements that a work-item reads at once; at most {}",
    "a filter of {} steps is not kept; at most {}",
});

const std::vector<LegalCase> &cases() {
  static const std::vector<LegalCase> all =
      read_cases(TILEFUSE_SOURCE_DIR "/tests/schedule/refusals.cases");
  return all;
}

bool contains(std::span<const std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::optional<std::string> refusal_of(const std::string &text) {
  const ParsedCase parsed = parse_case(text);
  return illegal(parsed.group, parsed.schedule, parsed.target);
}

TEST(Legality, CasesAreLegalAndTheirEditsAreNot) {
  EXPECT_FALSE(cases().empty());
  for (const LegalCase &one : cases()) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(refusal_of(one.text), std::nullopt);
    for (const Refused &edit : one.refused)
      EXPECT_EQ(refusal_of(edited(one.text, edit)), edit.reason);
  }
}

nest::Nest sum_nest() {
  return nest::parse_nest(R"(nest sum {
  index y 8 | c 4
  slot 0 f32 32, 1 f32 8
  acc f32 = sum
  in 0 + 0 [y:8*4, c:4*1]
  out 1 + 0 [y:8*1]
  post acc
})");
}

struct Value {
  std::string reason;
  std::function<void(schedule::Schedule &)> spoil;
};

// What no text says: values that do not belong to their nest.
std::vector<Value> wrong_values() {
  return {
      {"it splits 1 indices, the nest has 2", [](auto &s) { s.splits.pop_back(); }},
      {"it places 0 inputs, the nest has 1", [](auto &s) { s.fills.clear(); }},
      {"it places 0 inputs, the nest has 1", [](auto &s) { s.stages.clear(); }},
      {"its loop order is not a permutation of the indices", [](auto &s) { s.order[0] = 2; }},
      {"input 0 has a staging level but is not staged", [](auto &s) { s.stages[0].at = 1; }},
      {"it has schedules for 1 producers, the group has 0", [](auto &s) { s.producers.resize(1); }},
      {"its lanes have one part, which needs no list", [](auto &s) {
         s.lanes = LaneKind::WorkItem;
         s.splits[0] = {.tile = 4, .lane = 4};
         s.lane_parts = {{0, 4}};
       }}};
}

TEST(Legality, ValuesThatDoNotBelongToTheirNest) {
  const poly::Group group{sum_nest(), {}};
  const schedule::Schedule usual = schedule::scalar_schedule(group.anchor);
  const Target target = target_row("opencl_nvidia");
  EXPECT_EQ(illegal(group, usual, target), std::nullopt);
  for (const Value &value : wrong_values()) {
    schedule::Schedule spoilt = usual;
    value.spoil(spoilt);
    EXPECT_EQ(illegal(group, spoilt, target), value.reason);
  }
}

// Refusals of named algorithms, for a problem and a target that they do not fit.
std::vector<std::string> algorithm_refusals() {
  std::set<std::string> found;
  for (const LegalCase &one : cases()) {
    const ParsedCase parsed = parse_case(one.text);
    for (const std::string &name : search::algorithm_names())
      found.insert(search::named_schedule(name, parsed.group.anchor, parsed.target).refusal);
  }
  return {found.begin(), found.end()};
}

template <typename Call> std::string error_of(const Call &call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return {};
}

// What is said of a text or a name that belongs to nothing.
std::vector<std::string> errors() {
  const poly::Group group{sum_nest(), {}};
  const std::string text = schedule::to_text(group.anchor, schedule::scalar_schedule(group.anchor));
  return {error_of([&] { schedule::parse_schedule(group, text + "producer 1\n" + text); }),
          error_of([&] { search::named_schedule("none", group.anchor, target_row("cpu_avx2")); })};
}

std::vector<std::string> messages() {
  std::vector<std::string> all = algorithm_refusals();
  for (const LegalCase &one : cases())
    for (const Refused &edit : one.refused)
      all.push_back(edit.reason);
  for (const Value &value : wrong_values())
    all.push_back(value.reason);
  for (const std::string &error : errors())
    all.push_back(error);
  return all;
}

bool is_provoked(const std::vector<std::string> &said, std::string_view text) {
  return std::any_of(said.begin(), said.end(),
                     [&](const std::string &message) { return holds(message, text); });
}

TEST(Legality, EveryRefusalIsProvoked) {
  const std::vector<std::string> said = messages();
  std::set<std::string> open;
  int provoked = 0;
  for (const SourceText &one : sentences(TILEFUSE_SOURCE_DIR "/src/schedule")) {
    if (contains(kOtherFiles, one.file) || contains(kNoRefusals, one.text))
      continue;
    const bool is_listed = contains(kNotYetProvoked, one.text);
    const bool is_known = is_provoked(said, one.text);
    provoked += is_known ? 1 : 0;
    EXPECT_NE(is_known, is_listed)
        << one.file << ":" << one.line << ": " << one.text
        << (is_known ? "\nis provoked: it is not to be listed" : "\nhas no row in refusals.cases");
    if (is_listed)
      open.insert(one.text);
  }
  for (const std::string_view text : kNotYetProvoked)
    EXPECT_TRUE(open.contains(std::string(text))) << "no source says: " << text;
  fmt::print("{} refusals are provoked, {} not yet\n", provoked, open.size());
}

TEST(Legality, SourcesAreReadAsTheyAre) {
  const auto texts = literals("// \"no\"\n#include \"no.h\"\nf(\"two {} words\"\n  \" more\", 'x', "
                              "'\\'', \"a\\\"b c\", 1'000, \"end of it\");",
                              "a.cpp");
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0].text, "two {} words more");
  EXPECT_EQ(texts[0].line, 3);
  EXPECT_EQ(texts[1].text, "a\"b c");
  EXPECT_EQ(texts[2].text, "end of it");
  EXPECT_TRUE(holds("there are 3 and 4 of them", "{} and {} of"));
  EXPECT_FALSE(holds("there are 3 or 4 of them", "{} and {} of"));
}

} // namespace
} // namespace tilefuse::testing
