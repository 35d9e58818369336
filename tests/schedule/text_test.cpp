// SPDX-License-Identifier: Apache-2.0
// The text of a schedule: every field prints and reads back, what a field usually is prints
// nothing, and what does not read is refused where it stands.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "paths.h"
#include "schedule/members.h"
#include "schedule/refusal_cases.h"
#include "schedule/refusal_texts.h"
#include "schedule/text.h"

namespace tilefuse::testing {
namespace {

using nest::IndexId;
using schedule::Schedule;

nest::Nest product() {
  return nest::parse_nest(R"(nest gemm {
  index y 32, m 64 | c 48
  slot 0 f32 1536, 1 f32 3072, 2 f32 2048
  acc f32 = sum mul
  in 0 + 0 [y:32*48, c:48*1]
  in 1 + 0 const [m:64*48, c:48*1]
  out 2 + 0 [y:32*64, m:64*1]
  post acc
})");
}

constexpr std::string_view kHead = "schedule s workitem\n";
constexpr std::string_view kLoop = "  loop   y m c\n";
constexpr std::string_view kTile = "  tile   y:1 m:1\n";
constexpr std::string_view kCore = "  core   m16n8k16.f16.f32 rows 32 warps 2 1 ring 3";

// A schedule of the product with these lines, which stand in this order: tiles, lanes and so on up
// to the core instruction; the loops; and what is said of single indices and inputs.
std::string with(const std::string &above, const std::string &below = {}) {
  return std::string(kHead) + (above.find("  tile") == 0 ? "" : std::string(kTile)) + above +
         std::string(kLoop) + below;
}

Schedule parsed(const std::string &text) { return schedule::parse_schedule(product(), text); }

// The text reads, and prints as it is.
Schedule round_trip(const std::string &text) {
  const Schedule schedule = parsed(text);
  EXPECT_EQ(schedule::to_text(product(), schedule), text);
  EXPECT_EQ(parsed(schedule::to_text(product(), schedule)), schedule);
  return schedule;
}

TEST(ScheduleText, Splits) {
  const schedule::Split usual = round_trip(with("")).splits[1];
  EXPECT_EQ(usual, schedule::Split{});
  EXPECT_EQ(round_trip(with("  tile   y:4 m:32\n")).splits[1].tile, 32);
  EXPECT_EQ(round_trip(with("  tile   y:1 m:1 c:16\n")).splits[2].tile, 16);
  EXPECT_EQ(parsed(with("  tile   c:48\n")).splits[2].tile, 48);
  EXPECT_EQ(round_trip(with("  lane   m:8\n")).splits[1].lane, 8);
  EXPECT_EQ(round_trip(with("  vec    m:4\n")).splits[1].vec, 4);
  EXPECT_EQ(round_trip(with("  keep   y:2 c:4\n")).splits[2].keep, 4);
  EXPECT_EQ(round_trip(with("", "  near   m\n")).splits[1].near, true);
  EXPECT_EQ(round_trip(with("", "  roll   y:3\n")).splits[0].roll, 3);
  EXPECT_EQ(round_trip(with("", "  clip   c\n")).splits[2].clip, true);
  EXPECT_EQ(round_trip(with("", "  edge   y m\n")).splits[1].edge, true);
}

// An index may come several times, and then the digits' order is kept.
TEST(ScheduleText, LaneParts) {
  EXPECT_TRUE(round_trip(with("  lane   m:8\n")).lane_parts.empty());
  const Schedule schedule = round_trip(with("  lane   m:2 y:4 m:8\n"));
  EXPECT_EQ(schedule.splits[1].lane, 16);
  EXPECT_EQ(schedule.splits[0].lane, 4);
  const std::vector<schedule::LanePart> parts = {{IndexId{1}, 2}, {IndexId{0}, 4}, {IndexId{1}, 8}};
  EXPECT_EQ(schedule.lane_parts, parts);
}

TEST(ScheduleText, OrderAndLanes) {
  const Schedule schedule = parsed("schedule other vector\n  loop m y c\n");
  EXPECT_EQ(schedule.name, "other");
  EXPECT_EQ(schedule.lanes, LaneKind::Vector);
  EXPECT_EQ(schedule.order, (std::vector{IndexId{1}, IndexId{0}, IndexId{2}}));
  EXPECT_EQ(parsed(schedule::to_text(product(), schedule)), schedule);
}

TEST(ScheduleText, Inputs) {
  using enum schedule::Fill;
  const auto fill_of = [](const std::string &lines, std::size_t input = 1) {
    return round_trip(with("", lines)).fills[input];
  };
  EXPECT_EQ(fill_of(""), Direct);
  EXPECT_EQ(fill_of("  stage  1\n"), Local);
  EXPECT_EQ(fill_of("  pack   1\n"), Packed);
  EXPECT_EQ(fill_of("  pack   1\n  stage  1\n"), PackedLocal);
  EXPECT_EQ(parsed(with("", "  stage 1\n  pack 1\n")).fills[1], PackedLocal);
  EXPECT_EQ(fill_of("  produce 0\n", 0), Produced);
  const auto stage_of = [](const std::string &lines) {
    return round_trip(with("", lines)).stages[0];
  };
  EXPECT_EQ(stage_of("  stage  0 at c\n").at, IndexId{2});
  EXPECT_EQ(stage_of("  stage  0 turned\n").layout, schedule::Layout::Turned);
  EXPECT_EQ(stage_of("  stage  0 odd\n").layout, schedule::Layout::Odd);
  EXPECT_EQ(stage_of("  stage  0 at c turned twice\n").twice, true);
  EXPECT_EQ(stage_of("  stage  0 at c ring 3\n").ring, 3);
  EXPECT_EQ(stage_of("  stage  0 width 4\n").width, 4);
  EXPECT_EQ(stage_of("  stage  0 unroll\n").rounds, schedule::Rounds::Unrolled);
  EXPECT_EQ(stage_of("  stage  0 at c twice width 2 hold\n").rounds, schedule::Rounds::Held);
  EXPECT_EQ(stage_of("  stage  0 at c ring 3 width 2\n").width, 2);
  EXPECT_EQ(stage_of("  stage  0\n").rounds, schedule::Rounds::Loop);
  EXPECT_EQ(stage_of("  stream 0 registers 4\n").stream, 4);
  EXPECT_EQ(stage_of("  prefetch 0\n").prefetch, true);
}

// Each word of the core line sets its own field, and all of them together read back.
TEST(ScheduleText, Core) {
  const auto core_of = [](const std::string &words) {
    return round_trip(with(std::string(kCore) + words + "\n")).core;
  };
  const schedule::Core plain = core_of("");
  EXPECT_EQ(plain.op, find_core_op("m16n8k16.f16.f32"));
  EXPECT_EQ(std::tuple(plain.rows, plain.warp_rows, plain.warp_columns, plain.ring),
            std::tuple(32, 2, 1, 3));
  EXPECT_EQ(core_of(" blocks 7").blocks, 7);
  EXPECT_EQ(core_of(" turns 2").turns, 2);
  EXPECT_EQ(core_of(" swapped").swapped, true);
  EXPECT_EQ(core_of(" early").early, true);
  EXPECT_EQ(core_of(" lead 2").lead, 2);
  EXPECT_EQ(core_of(" blend").blends, true);
  EXPECT_EQ(core_of(" test_rows").tests_rows, true);
  EXPECT_EQ(core_of(" mappers 1 registers 40 152 112").map_registers, 112);
  EXPECT_EQ(core_of(" registers 40 232").math_registers, 232);
  EXPECT_EQ(core_of(" tensor_store").tensor_store, true);
  EXPECT_EQ(core_of(" ahead 2").ahead, 2);
  EXPECT_EQ(core_of(" window 2").window, 2);
  EXPECT_EQ(core_of(" keep_filter").keeps_filter, true);
  EXPECT_EQ(core_of(" cluster 2 1").cluster_rows, 2);
  EXPECT_EQ(core_of(" cluster 1 4").cluster_columns, 4);
  EXPECT_EQ(core_of(" mappers 2").mappers, 2);
  EXPECT_EQ(core_of(" gather").gathers, true);
  EXPECT_EQ(core_of(" parts 4").cluster_parts, 4);
  EXPECT_EQ(core_of(" raster rows").raster, schedule::Raster::Rows);
  EXPECT_EQ(core_of(" k_inner").k_inner, true);
  const schedule::Core all =
      core_of(" blocks 7 turns 2 swapped tensor_store ahead 1 window 2 keep_filter cluster 2 2 "
              "mappers 1 gather parts 2 raster rows k_inner");
  EXPECT_FALSE(all == plain);
}

// Groups: the anchor's, then those of members that have one.
TEST(ScheduleText, CasesReadBack) {
  for (const LegalCase &one : read_cases(TILEFUSE_SOURCE_DIR "/tests/schedule/refusals.cases")) {
    const ParsedCase parsed = parse_case(one.text);
    const std::string text = to_text(parsed.group, parsed.schedule);
    EXPECT_TRUE(one.text.ends_with(text)) << one.name << "\n" << text;
    EXPECT_EQ(schedule::parse_schedule(parsed.group, text), parsed.schedule) << one.name;
  }
}

struct Wrong {
  std::string text;
  std::string message;
};

std::vector<Wrong> wrong_texts() {
  const std::string core(kCore);
  const auto below = [](const std::string &line) { return std::string(kHead) + "  " + line; };
  return {
      {"plan s vector", "expected 'schedule', got 'plan'"},
      {"schedule 3 vector", "expected the schedule's name, got '3'"},
      {"schedule s scalar", "expected 'vector', got 'scalar'"},
      {below("tiles y:1"), "expected tile, lane, vec, keep, near, roll, clip, edge, core, loop, "
                           "pack, produce, stage, prefetch or stream, got 'tiles'"},
      {below("tile z:1"), "the nest has no index 'z'"},
      {below("tile y 4"), "expected ':', got '4'"},
      {below("tile y:x"), "expected a factor, got 'x'"},
      {below("lane y:x"), "expected a factor, got 'x'"},
      {below("stage 0 at 3"), "expected an index, got '3'"},
      {below("lane m:9000000000000000000 m:9"), "too many lanes"},
      {below("stage x"), "expected an input, got 'x'"},
      {below("stage 2"), "the nest has no input 2"},
      {below("pack -1"), "the nest has no input -1"},
      {below("stage 0 ring x"), "expected the buffers of an input, got 'x'"},
      {below("stage 0 ring 0"), "a ring of 0 buffers; need 1 to 65536"},
      {below("stage 0 ring 65537"), "a ring of 65537 buffers; need 1 to 65536"},
      {below("stage 0 width x"), "expected elements copied at once, got 'x'"},
      {below("stage 0 width 0"), "a width of 0 elements; need 1 to 65536"},
      {below("stream 0 3"), "expected 'registers', got '3'"},
      {below("stream 0 registers x"), "expected the bodies that registers hold, got 'x'"},
      {below("stream 0 registers 0"), "a stream of 0 registers; need 1 to 65536"},
      {below("core 16"), "expected a core instruction, got '16'"},
      {below("core m1n1k1.f64 rows 1"), "there is no core instruction 'm1n1k1.f64'"},
      {below("core m16n8k16.f16.f32 rows x"), "expected rows of a block, got 'x'"},
      {below("core m16n8k16.f16.f32 rows 1 warps x"), "expected warps over the rows, got 'x'"},
      {below("core m16n8k16.f16.f32 rows 1 warps 1 x"), "expected warps over the columns, got 'x'"},
      {core + " blocks x", "expected the blocks that share the tiles, got 'x'"},
      {core + " turns x", "expected the groups that take tiles in turn, got 'x'"},
      {core + " ahead x", "expected the buffers of operands, got 'x'"},
      {core + " window x", "expected the buffers of windows, got 'x'"},
      {core + " cluster x 1", "expected the blocks of a cluster one way, got 'x'"},
      {core + " cluster 1 0", "a cluster of 0 blocks; need 1 to 256"},
      {core + " parts 257", "a cluster of 257 blocks; need 1 to 256"},
      {core + " mappers x", "expected the groups that evaluate maps, got 'x'"},
      {core + " gather swapped", "got 'swapped'"},
      {core + " raster columns", "expected 'rows', got 'columns'"},
      {core + " lead x", "expected the copies begun ahead, got 'x'"},
      {core + " registers 40 x", "expected registers of a work-item, got 'x'"},
      {core + " registers 40 256", "256 registers of a work-item; at most 255"},
  };
}

std::string message_of(const std::string &text) {
  try {
    parsed(text.starts_with("  core") ? std::string(kHead) + text : text);
  } catch (const Error &error) {
    return error.what();
  }
  return "it reads";
}

TEST(ScheduleText, WhatIsNoScheduleIsRefused) {
  for (const Wrong &wrong : wrong_texts())
    EXPECT_TRUE(holds(message_of(wrong.text), wrong.message)) << wrong.text << "\n"
                                                              << message_of(wrong.text);
}

// Every sentence of the parser, apart from those that it prints.
TEST(ScheduleText, EveryRefusalIsProvoked) {
  for (const SourceText &one : sentences(TILEFUSE_SOURCE_DIR "/src/schedule")) {
    const bool is_printed = one.text.starts_with(" ") || one.text.starts_with("schedule {}") ||
                            one.text.starts_with("{} ring");
    if (one.file != "text.cpp" || is_printed)
      continue;
    const std::vector<Wrong> all = wrong_texts();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                            [&](const Wrong &wrong) { return holds(wrong.message, one.text); }))
        << one.line << ": " << one.text;
  }
}

TEST(ScheduleText, ProducersAreThoseOfTheGroup) {
  const poly::Group group{product(), {}};
  EXPECT_THROW(schedule::parse_schedule(group, with("") + "producer 1\n" + with("")), Error);
  EXPECT_EQ(schedule::parse_schedule(group, with("")), parsed(with("")));
}

} // namespace
} // namespace tilefuse::testing
