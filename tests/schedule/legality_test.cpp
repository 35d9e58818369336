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
#include "nest/flatten/split.h"
#include "paths.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/mma/core_legal.h"
#include "schedule/refusal_cases.h"
#include "schedule/refusal_texts.h"
#include "schedule/text.h"
#include "schedule/tile_join.h"
#include "search/forms/algorithms.h"
#include "search/forms/core_forms.h"
#include "search/pick.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using namespace std::string_view_literals;
using nest::IndexId;

// Files whose sentences say something else: the parser (text_test.cpp) and names of forms.
constexpr auto kOtherFiles = std::to_array<std::string_view>(
    {"text.cpp", "text_parse.cpp", "text_numbers.cpp", "old_text.cpp"});

// Sentences that are no refusals of a schedule.
constexpr auto kNoRefusals = std::to_array<std::string_view>({
    "algorithms are {}, {}",                                  // a note
    "a matrix instruction for what is not a sum of products", // an internal check
    "an axis of tiles without an index",                      // the same
    "a sum of other tiles",                                   // the same
});

constexpr auto kNotYetProvoked = std::to_array<std::string_view>({
    "taps move a window where no pixel does",
    "it does not feed the anchor",
    "a producer's inputs are straight",
    "it has no dimensions",
    "a producer's {} rolls through {} tiles; one fills the buffer",
    "columns are padded to panels",
    "a block computes several parts",
    "parts are computed as points of a tile",
    "an index of the result is in no tile",
});

// Ranges outside which no schedule of the cases lies yet.
constexpr auto kRangesNotYetProvoked = std::to_array<std::string_view>({
    "im2col.lower",
    "im2col.upper",
    "im2col.offset",
    "im2col.points",
    "spread.reads",
    "tensor_map.rank",
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
      {"it places 0 inputs, the nest has 1", [](auto &s) { s.pipes.clear(); }},
      {"its loop order is not a permutation of the indices",
       [](auto &s) { s.order[0] = IndexId{2}; }},
      {"input 0 has a staging level but is not staged",
       [](auto &s) { s.pipes[0].at = IndexId{1}; }},
      {"it has schedules for 1 producers, the group has 0", [](auto &s) { s.producers.resize(1); }},
      {"its lanes have one part, which needs no list", [](auto &s) {
         s.lanes = LaneKind::WorkItem;
         s.splits[0] = {.tile = 4, .lane = 4};
         s.lane_parts = {{IndexId{0}, 4}};
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

// A producer's schedule in a value that no text gives: it has a producer in turn.
constexpr std::string_view kNestedProducer = "member 1: a producer's schedule has no producers";

TEST(Legality, ProducersOfASchedulesProducer) {
  const auto found = std::find_if(cases().begin(), cases().end(), [](const LegalCase &one) {
    return one.text.find("\nproduce input") != std::string::npos;
  });
  ASSERT_NE(found, cases().end());
  ParsedCase parsed = parse_case(found->text);
  parsed.schedule.producers[0].producers.resize(1);
  EXPECT_EQ(illegal(parsed.group, parsed.schedule, parsed.target), kNestedProducer);
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

// A convolution whose products take part; results lie `apart` elements from row to row.
nest::Nest conv_nest(std::string_view type, std::int64_t channels, std::int64_t apart) {
  const std::int64_t c = 64, width = 16, rows = apart / channels;
  return nest::parse_nest(fmt::format(
      R"(nest conv {{
  index n 2, y 16, x 16, m {1} | c {2}, r 3, s 3
  slot 0 {0} {3}, 1 {0} {4}, 2 f32 {5}
  acc f32 = sum mul
  in 0 + 0 [n:2*{6}, y + r - 1:16?*{7}, x + s - 1:16?*{2}, c:{2}*1]
  in 1 + 0 const [m:{1}*{8}, r:3*{9}, s:3*{2}, c:{2}*1]
  out 2 + 0 [n:2*{10}, y:16*{11}, x:16*{1}, m:{1}*1]
  post acc
}})",
      type, channels, c, 2 * width * width * c, channels * 9 * c, 2 * width * apart,
      width * width * c, width * c, 9 * c, 3 * c, width * apart, rows * channels));
}

// Why parts of split reductions are not joined in the launch that computes them, by every schedule
// that is listed or has a name.
std::set<std::string> join_refusals() {
  std::set<std::string> found;
  const nest::Nest gradient = nest::parse_nest(R"(nest conv {
  index m 64, r 3, s 3, k 128 | c 4, y 8, x 8
  slot 0 f16 16384, 1 f16 32768, 2 f16 73728
  acc f32 = sum mul
  in 0 + 0 [c:4*4096, y:8*512, x:8*64, m:64*1]
  in 1 + 0 [c:4*8192, r + y - 1:8?*1024, s + x - 1:8?*128, k:128*1]
  out 2 + 0 [m:64*1152, r:3*384, s:3*128, k:128*1]
  post f16(acc)
})");
  for (const nest::Nest &nest : {conv_nest("f16", 64, 16 * 64), conv_nest("f16", 40, 16 * 40),
                                 conv_nest("f16", 256, 18 * 256), gradient}) {
    const nest::SplitNests split =
        nest::split_reduction(nest, nest::parse_split(nest, "c:2"), true);
    for (const char *row : {"cuda_sm90", "cuda_sm80", "opencl_gpu"}) {
      const Target target = target_row(row);
      std::vector<schedule::Schedule> schedules =
          search::every_wgmma_schedule(split.partial, target, false);
      for (const std::string &name : search::algorithm_names())
        if (auto named = search::named_schedule(name, split.partial, target).schedule)
          schedules.push_back(*named);
      for (search::Candidate &candidate : search::candidates(split.partial, target, 400))
        schedules.push_back(std::move(candidate.schedule));
      for (const schedule::Schedule &each : schedules)
        if (illegal(split.partial, each, target) == std::nullopt)
          found.insert(tile_join(split.partial, each, split.join, target).refusal);
    }
  }
  return found;
}

std::vector<std::string> messages() {
  std::vector<std::string> all = algorithm_refusals();
  all.emplace_back(kNestedProducer);
  for (const std::string &refusal : join_refusals())
    all.push_back(refusal);
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

// All ranges are refused by one sentence, which names the number: each name is to be seen.
TEST(Legality, EveryRangeIsProvoked) {
  const std::vector<std::string> said = messages();
  std::set<std::string> names;
  for (const char *folder : {"/src/schedule", "/src/target"})
    for (const SourceText &one : range_names(std::string(TILEFUSE_SOURCE_DIR) + folder))
      names.insert(one.text);
  EXPECT_TRUE(names.contains("halo.stages"));
  for (const std::string &name : names) {
    const bool is_known = std::any_of(said.begin(), said.end(), [&](const std::string &message) {
      return message.starts_with(name + " is ") ||
             message.find(": " + name + " is ") != std::string::npos;
    });
    EXPECT_NE(is_known, contains(kRangesNotYetProvoked, name))
        << name << (is_known ? " is provoked: it is not to be listed" : " has no row");
  }
  for (const std::string_view name : kRangesNotYetProvoked)
    EXPECT_TRUE(names.contains(std::string(name))) << "no source says: " << name;
  fmt::print("{} ranges, {} not yet provoked\n", names.size(), kRangesNotYetProvoked.size());
}

// The rules of schedules with matrix instructions: local questions, and pairs of features that
// exclude each other.
TEST(Legality, MatrixInstructionsHaveFewRules) {
  constexpr std::size_t kMostRules = 60;
  constexpr std::size_t kMostExclusions = 10;
  std::set<std::string> rules;
  for (const char *folder : {"/src/schedule/mma", "/src/schedule/wgmma"})
    for (const SourceText &one : sentences(std::string(TILEFUSE_SOURCE_DIR) + folder))
      if (!contains(kNoRefusals, one.text))
        rules.insert(one.text);
  for (const SourceText &one : sentences(TILEFUSE_SOURCE_DIR "/src/base"))
    if (one.file == "range.cpp")
      rules.insert(one.text);
  fmt::print("{} rules, {} of them pairs that exclude each other\n", rules.size(),
             schedule::exclusions().size());
  EXPECT_LE(rules.size(), kMostRules);
  EXPECT_LE(schedule::exclusions().size(), kMostExclusions);
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
  const auto names = literals("outside({\"a.b\", 1, 2}); Exclusion{\"a\", \"b\"}", "a.cpp");
  ASSERT_EQ(names.size(), 3U);
  EXPECT_TRUE(names[0].names);
  EXPECT_FALSE(names[1].names || names[2].names);
  EXPECT_TRUE(holds("there are 3 and 4 of them", "{} and {} of"));
  EXPECT_FALSE(holds("there are 3 or 4 of them", "{} and {} of"));
}

} // namespace
} // namespace tilefuse::testing
