// SPDX-License-Identifier: Apache-2.0
// The text of a schedule: every field prints and reads back, what a field usually is prints
// nothing, and what does not read is refused where it stands.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

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

constexpr auto kParserFiles =
    std::to_array<std::string_view>({"text_parse.cpp", "text_numbers.cpp", "old_text.cpp"});
constexpr std::string_view kHead = "schedule s workitem\n";
constexpr std::string_view kLoop = "  loop   y m c\n";
constexpr std::string_view kTile = "  tile   y:1 m:1\n";
constexpr std::string_view kMma = "  mma    m16n8k16.f16.f32 m 32 warps 2 1";
const std::string kPipes = "  pipe   0 cp_async stages 3\n  pipe   1 cp_async stages 3\n";

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
  EXPECT_EQ(round_trip(with("  reg    y:2 c:4\n")).splits[2].keep, 4);
  EXPECT_EQ(round_trip(with("", "  blocked m\n")).splits[1].near, true);
  EXPECT_EQ(round_trip(with("", "  slide  y:3\n")).splits[0].roll, 3);
  EXPECT_EQ(round_trip(with("", "  trim   c\n")).splits[2].clip, true);
  EXPECT_EQ(round_trip(with("", "  peel   y m\n")).splits[1].edge, true);
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
    return round_trip(with("", lines)).pipes[0];
  };
  EXPECT_EQ(stage_of("  stage  0 at c\n").at, IndexId{2});
  EXPECT_EQ(stage_of("  stage  0 transposed\n").layout, schedule::Layout::Transposed);
  EXPECT_EQ(stage_of("  stage  0 odd\n").layout, schedule::Layout::Odd);
  EXPECT_EQ(stage_of("  stage  0 at c transposed stages 2\n").stages, 2);
  EXPECT_EQ(stage_of("  stage  0 at c cp_async stages 3\n").engine, schedule::Engine::CpAsync);
  EXPECT_EQ(stage_of("  stage  0 width 4\n").width, 4);
  EXPECT_EQ(stage_of("  stage  0 unroll\n").rounds, schedule::Rounds::Unrolled);
  EXPECT_EQ(stage_of("  stage  0 at c stages 2 width 2 hold\n").rounds, schedule::Rounds::Held);
  EXPECT_EQ(stage_of("  stage  0 at c cp_async stages 3 width 2\n").width, 2);
  EXPECT_EQ(stage_of("  stage  0\n").rounds, schedule::Rounds::Loop);
  EXPECT_EQ(stage_of("  pipeline 0 registers 4\n").stream, 4);
  EXPECT_EQ(stage_of("  prefetch 0\n").prefetch, true);
}

// Each word of a matrix instruction's lines sets its own field.
TEST(ScheduleText, MatrixInstructions) {
  using enum schedule::Engine;
  const auto of = [](const std::string &words, const std::string &below = {}) {
    return round_trip(with(std::string(kMma) + words + "\n", kPipes + below));
  };
  const Schedule plain = of("");
  EXPECT_EQ(plain.core.op, find_core_op("m16n8k16.f16.f32"));
  EXPECT_EQ(std::tuple(plain.core.rows, plain.core.warp_rows, plain.core.warp_columns),
            std::tuple(32, 2, 1));
  EXPECT_EQ(plain.pipes[1], (schedule::Pipe{.engine = CpAsync, .stages = 3}));
  EXPECT_EQ(of(" swap_ab").core.swap_ab, true);
  EXPECT_EQ(of(" k_inner").core.k_inner, true);
  EXPECT_EQ(of("", "  pipe   extra tma stages 2\n").extra,
            (schedule::Pipe{.engine = Tma, .stages = 2}));
  EXPECT_EQ(of("", "  pipe   extra tma stages 4 epi_n 32\n").extra,
            (schedule::Pipe{.engine = Tma, .stages = 4, .epi_n = 32}));
  EXPECT_EQ(of("", "  role   load registers 40 early lead 2\n").roles.load,
            (schedule::LoadRole{.registers = 40, .early = true, .lead = 2}));
  EXPECT_EQ(of("", "  role   transform groups 1 registers 112 select\n").roles.transform,
            (schedule::TransformRole{.groups = 1, .registers = 112, .selects = true}));
  EXPECT_EQ(of("", "  role   math pingpong 2 registers 232 test_rows\n").roles.math,
            (schedule::MathRole{.instances = 2, .registers = 232, .tests_rows = true}));
  EXPECT_EQ(of("", "  order  persistent 7 cluster 2 4 split_k 8 raster m\n").tiles,
            (schedule::TileOrder{.persistent = 7,
                                 .cluster_m = 2,
                                 .cluster_n = 4,
                                 .split_k = 8,
                                 .raster = schedule::Raster::Rows}));
  EXPECT_EQ(of("", "  store  tma\n").store, schedule::Store::Tma);
}

TEST(ScheduleText, Footprints) {
  using enum schedule::Footprint;
  const auto pipe_of = [](const std::string &line) {
    return round_trip(with("  wgmma  m64n64k16.f16.f32 m 128 warpgroups 2 1\n",
                           "  pipe   0 " + line + "\n  pipe   1 tma stages 3\n"))
        .pipes[0];
  };
  EXPECT_EQ(pipe_of("tma stages 3").footprint, Step);
  EXPECT_EQ(pipe_of("halo tma stages 2").footprint, Halo);
  EXPECT_EQ(pipe_of("step_halo tma stages 3").footprint, StepHalo);
  EXPECT_EQ(pipe_of("resident tma stages 9").footprint, Resident);
  EXPECT_EQ(pipe_of("cp_async stages 4").engine, schedule::Engine::CpAsync);
}

// Words of the release before read as what they are called now.
TEST(ScheduleText, OldWordsRead) {
  const auto same = [](const std::string &old, const std::string &now) {
    EXPECT_EQ(parsed(old), parsed(now)) << old << now;
  };
  same(with("  keep   y:2\n", "  near m\n"), with("  reg    y:2\n", "  blocked m\n"));
  same(with("", "  roll y:3\n  clip c\n  edge m\n"), with("", "  slide y:3\n  trim c\n  peel m\n"));
  same(with("", "  stage 0 at c turned twice\n  stage 1 at c ring 3\n"),
       with("", "  stage 0 at c transposed stages 2\n  stage 1 at c cp_async stages 3\n"));
  same(with("", "  stream 0 registers 4\n"), with("", "  pipeline 0 registers 4\n"));
  same(with("  core m16n8k16.f16.f32 rows 32 warps 2 1 ring 3\n"),
       with(std::string(kMma) + "\n", kPipes));
  same(with("  core m64n64k16.f16.f32 rows 256 warps 2 1 ring 9 blocks 132 turns 2 swapped "
            "tensor_store ahead 1 window 3 keep_filter cluster 2 1 mappers 1 parts 4 raster rows "
            "k_inner early lead 2 blend test_rows registers 40 152 112\n"),
       with("  wgmma m64n64k16.f16.f32 m 256 warpgroups 2 1 swap_ab k_inner\n",
            "  pipe 0 halo tma stages 3\n  pipe 1 resident tma stages 9\n"
            "  pipe extra tma stages 1\n  role load registers 40 early lead 2\n"
            "  role transform groups 1 registers 112 select\n"
            "  role math pingpong 2 registers 152 test_rows\n"
            "  order persistent 132 cluster 2 1 split_k 4 raster m\n  store tma\n"));
  same(with("  core m64n64k16.f16.f32 rows 64 warps 1 1 ring 4 gather\n"),
       with("  wgmma m64n64k16.f16.f32 m 64 warpgroups 1 1\n",
            "  pipe 0 cp_async stages 4\n  pipe 1 tma stages 4\n"));
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
  const auto below = [](const std::string &line) { return std::string(kHead) + "  " + line; };
  const std::string mma = below("mma m16n8k16.f16.f32 ");
  const std::string core = below("core m16n8k16.f16.f32 ");
  return {
      {"plan s vector", "expected 'schedule', got 'plan'"},
      {"schedule 3 vector", "expected the schedule's name, got '3'"},
      {"schedule s scalar", "expected 'vector', got 'scalar'"},
      {below("tiles y:1"),
       "expected tile, lane, vec, reg, slide, trim, peel, blocked, mma, "
       "wgmma, dot, loop, stage, produce, pack, prefetch, pipeline, pipe, role, "
       "order, store, got 'tiles'"},
      {below("tile z:1"), "the nest has no index 'z'"},
      {below("tile y 4"), "expected ':', got '4'"},
      {below("tile y:x"), "expected a factor, got 'x'"},
      {below("lane y:x"), "expected a factor, got 'x'"},
      {below("stage 0 at 3"), "expected an index, got '3'"},
      {below("lane m:9000000000000000000 m:9"), "too many lanes"},
      {below("stage x"), "expected an input, got 'x'"},
      {below("stage 2"), "the nest has no input 2"},
      {below("pack -1"), "the nest has no input -1"},
      {below("stage 0 stages x"), "expected the stages of a pipe, got 'x'"},
      {below("stage 0 stages 0"), "0 for the stages of a pipe; need 1 to 65536"},
      {below("stage 0 ring 65537"), "65537 for the stages of a pipe; need 1 to 65536"},
      {below("stage 0 width x"), "expected elements copied at once, got 'x'"},
      {below("stage 0 width 0"), "0 for elements copied at once; need 1 to 65536"},
      {below("pipeline 0 3"), "expected 'registers', got '3'"},
      {below("pipeline 0 registers x"), "expected the stages of a pipe, got 'x'"},
      {below("mma 16"), "expected a matrix instruction, got '16'"},
      {below("mma m1n1k1.f64 m 1"), "there is no matrix instruction 'm1n1k1.f64'"},
      {mma + "m x", "expected rows of a block, got 'x'"},
      {mma + "m 1 warpgroups 1 1", "expected 'warps', got 'warpgroups'"},
      {mma + "m 1 warps x", "expected warps over the rows, got 'x'"},
      {mma + "m 1 warps 1 x", "expected warps over the columns, got 'x'"},
      {below("pipe 2 tma"), "the nest has no input 2"},
      {below("role x"), "expected 'math', got 'x'"},
      {below("pipe extra tma epi_n x"), "expected columns of an epilogue tile, got 'x'"},
      {below("role load lead x"), "expected copies begun ahead, got 'x'"},
      {below("role load registers 256"), "256 for registers of a work-item; need 0 to 255"},
      {below("role math pingpong x"), "expected groups that take tiles in turn, got 'x'"},
      {below("role transform groups x"), "expected groups that evaluate maps, got 'x'"},
      {below("order persistent x"), "expected the blocks that share the tiles, got 'x'"},
      {below("order cluster x 1"), "expected the blocks of a cluster one way, got 'x'"},
      {below("order split_k 257"), "257 for the blocks of a cluster one way; need 1 to 256"},
      {below("order raster n"), "expected 'm', got 'n'"},
      {below("store x"), "expected direct, local or tma, got 'x'"},
      {below("dot 4"), "expected a dot product, got '4'"},
      {below("dot dot3.u8"), "there is no dot product 'dot3.u8'"},
      {below("core 16"), "expected a core instruction, got '16'"},
      {below("core m1n1k1.f64 rows 1"), "there is no core instruction 'm1n1k1.f64'"},
      {core + "rows x", "expected rows of a block, got 'x'"},
      {core + "rows 1 warps x", "expected warps over the rows, got 'x'"},
      {core + "rows 1 warps 1 x", "expected warps over the columns, got 'x'"},
      {core + "rows 1 warps 1 1 ring 2 blocks x", "expected the blocks that share the tiles"},
      {core + "rows 1 warps 1 1 ring 2 turns x", "expected groups that take tiles in turn"},
      {core + "rows 1 warps 1 1 ring 2 ahead x", "expected buffers of operands, got 'x'"},
      {core + "rows 1 warps 1 1 ring 2 window x", "expected buffers of windows, got 'x'"},
      {core + "rows 1 warps 1 1 ring 2 mappers x", "expected groups that evaluate maps, got 'x'"},
      {core + "rows 1 warps 1 1 ring 2 raster columns", "expected 'rows', got 'columns'"},
      {core + "rows 1 warps 1 1 ring 2 lead x", "expected copies begun ahead, got 'x'"},
  };
}

std::string message_of(const std::string &text) {
  try {
    parsed(text);
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
    if (std::find(kParserFiles.begin(), kParserFiles.end(), one.file) == kParserFiles.end())
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
