// SPDX-License-Identifier: Apache-2.0
#include "schedule/text.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "base/words.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr auto kLayouts =
    words<Layout>({{Layout::Plain, "plain"}, {Layout::Turned, "turned"}, {Layout::Odd, "odd"}});
constexpr auto kRounds =
    words<Rounds>({{Rounds::Loop, ""}, {Rounds::Unrolled, "unroll"}, {Rounds::Held, "hold"}});
constexpr std::int64_t kLargestRing = 1 << 16;
constexpr std::int64_t kLargestCluster = 1 << 8; // either way
constexpr std::int64_t kMostRegisters = 255;     // of a work-item

std::string factors(const Nest &nest, const Schedule &schedule, std::int64_t Split::*member) {
  std::string text;
  for (const IndexId i : schedule.splits.ids()) {
    const bool reduced = !is_output(nest, i);
    const std::int64_t value = schedule.splits[i].*member;
    std::int64_t usual = member == &Split::roll ? 0 : 1;
    if (reduced && member == &Split::tile)
      usual = extent(nest, i);
    const bool always = member == &Split::tile && !reduced;
    if (always || value != usual)
      text += fmt::format(" {}:{}", nest.indices[i].name, value);
  }
  return text;
}

std::string marked(const Nest &nest, const Schedule &schedule, bool Split::*member) {
  std::string text;
  for (const IndexId i : schedule.splits.ids())
    if (schedule.splits[i].*member)
      text += " " + nest.indices[i].name;
  return text;
}

IndexId find_index(const Nest &nest, Scanner &scanner) {
  const Token token = scanner.peek();
  const std::string name = scanner.expect_name("an index");
  for (const IndexId i : nest.indices.ids())
    if (nest.indices[i].name == name)
      return i;
  throw Error(ErrorCode::Syntax, fmt::format("the nest has no index '{}'", name),
              scanner.where(token));
}

void parse_factors(const Nest &nest, Scanner &scanner, Schedule &schedule,
                   std::int64_t Split::*member, int line) {
  while (scanner.peek().kind == TokenKind::Name && scanner.peek().line == line) {
    const IndexId index = find_index(nest, scanner);
    scanner.expect(":");
    schedule.splits[index].*member = scanner.expect_integer("a factor");
  }
}

void parse_marks(const Nest &nest, Scanner &scanner, Schedule &schedule, bool Split::*member,
                 int line) {
  while (scanner.peek().kind == TokenKind::Name && scanner.peek().line == line)
    schedule.splits[find_index(nest, scanner)].*member = true;
}

// Parts may name an index several times; a list is kept only where there are several.
void parse_lanes(const Nest &nest, Scanner &scanner, Schedule &schedule, int line) {
  std::vector<LanePart> parts;
  while (scanner.peek().kind == TokenKind::Name && scanner.peek().line == line) {
    const IndexId index = find_index(nest, scanner);
    scanner.expect(":");
    const Token token = scanner.peek();
    const std::int64_t count = scanner.expect_integer("a factor");
    std::int64_t &lane = schedule.splits[index].lane;
    if (__builtin_mul_overflow(lane, count, &lane))
      throw Error(ErrorCode::Limit, "too many lanes", scanner.where(token));
    parts.push_back({index, count});
  }
  if (parts.size() > 1)
    schedule.lane_parts = parts;
}

std::size_t parse_input(Scanner &scanner, const Schedule &schedule) {
  const Token token = scanner.peek();
  const std::int64_t input = scanner.expect_integer("an input");
  if (input < 0 || static_cast<std::size_t>(input) >= schedule.fills.size())
    throw Error(ErrorCode::Syntax, fmt::format("the nest has no input {}", input),
                scanner.where(token));
  return static_cast<std::size_t>(input);
}

void parse_pack(Scanner &scanner, Schedule &schedule) {
  Fill &fill = schedule.fills[parse_input(scanner, schedule)];
  fill = is_staged(fill) ? Fill::PackedLocal : Fill::Packed;
}

int parse_ring(Scanner &scanner) {
  const Token token = scanner.peek();
  const std::int64_t ring = scanner.expect_integer("the buffers of an input");
  if (ring < 1 || ring > kLargestRing)
    throw Error(ErrorCode::Limit,
                fmt::format("a ring of {} buffers; need 1 to {}", ring, kLargestRing),
                scanner.where(token));
  return static_cast<int>(ring);
}

int parse_width(Scanner &scanner) {
  const Token token = scanner.peek();
  const std::int64_t width = scanner.expect_integer("elements copied at once");
  if (width < 1 || width > kLargestRing)
    throw Error(ErrorCode::Limit,
                fmt::format("a width of {} elements; need 1 to {}", width, kLargestRing),
                scanner.where(token));
  return static_cast<int>(width);
}

// "stage 0", "stage 1 at c turned twice width 4 hold", "stage 0 at c ring 3", "produce 0 at c".
void parse_stage(const Nest &nest, Scanner &scanner, Schedule &schedule, bool is_produced) {
  const std::size_t input = parse_input(scanner, schedule);
  Fill &fill = schedule.fills[input];
  fill = is_packed(fill) ? Fill::PackedLocal : (is_produced ? Fill::Produced : Fill::Local);
  Stage &stage = schedule.stages[input];
  if (scanner.accept("at"))
    stage.at = find_index(nest, scanner);
  for (Layout layout : {Layout::Turned, Layout::Odd})
    if (scanner.accept(to_string(layout)))
      stage.layout = layout;
  stage.twice = scanner.accept("twice");
  if (scanner.accept("ring"))
    stage.ring = parse_ring(scanner);
  if (scanner.accept("width"))
    stage.width = parse_width(scanner);
  for (const Rounds rounds : {Rounds::Unrolled, Rounds::Held})
    if (scanner.accept(kRounds[rounds]))
      stage.rounds = rounds;
}

// "stream 1 registers 3".
void parse_stream(Scanner &scanner, Schedule &schedule) {
  Stage &stage = schedule.stages[parse_input(scanner, schedule)];
  scanner.expect("registers");
  const Token token = scanner.peek();
  const std::int64_t registers = scanner.expect_integer("the bodies that registers hold");
  if (registers < 1 || registers > kLargestRing)
    throw Error(ErrorCode::Limit,
                fmt::format("a stream of {} registers; need 1 to {}", registers, kLargestRing),
                scanner.where(token));
  stage.stream = static_cast<int>(registers);
}

std::int64_t parse_cluster(Scanner &scanner) {
  const Token token = scanner.peek();
  const std::int64_t count = scanner.expect_integer("the blocks of a cluster one way");
  if (count < 1 || count > kLargestCluster)
    throw Error(ErrorCode::Limit,
                fmt::format("a cluster of {} blocks; need 1 to {}", count, kLargestCluster),
                scanner.where(token));
  return count;
}

int parse_registers(Scanner &scanner) {
  const Token token = scanner.peek();
  const std::int64_t count = scanner.expect_integer("registers of a work-item");
  if (count < 0 || count > kMostRegisters)
    throw Error(ErrorCode::Syntax,
                fmt::format("{} registers of a work-item; at most {}", count, kMostRegisters),
                scanner.where(token));
  return static_cast<int>(count);
}

// "early lead 2 blend test_rows registers 40 152 112": what warps of wgmma do, by role.
void parse_roles(Scanner &scanner, Core &core) {
  core.early = scanner.accept("early");
  if (scanner.accept("lead"))
    core.lead = static_cast<int>(scanner.expect_integer("the copies begun ahead"));
  core.blends = scanner.accept("blend");
  core.tests_rows = scanner.accept("test_rows");
  if (!scanner.accept("registers"))
    return;
  core.copy_registers = parse_registers(scanner);
  core.math_registers = parse_registers(scanner);
  if (core.mappers > 0)
    core.map_registers = parse_registers(scanner);
}

// "core m16n8k16.f16.f32 rows 128 warps 2 2 ring 4".
void parse_core(Scanner &scanner, Schedule &schedule) {
  const Token token = scanner.peek();
  Core &core = schedule.core;
  core.op = find_core_op(scanner.expect_name("a core instruction"));
  if (core.op == nullptr)
    throw Error(ErrorCode::Syntax, fmt::format("there is no core instruction '{}'", token.text),
                scanner.where(token));
  scanner.expect("rows");
  core.rows = scanner.expect_integer("rows of a block");
  scanner.expect("warps");
  core.warp_rows = scanner.expect_integer("warps over the rows");
  core.warp_columns = scanner.expect_integer("warps over the columns");
  scanner.expect("ring");
  core.ring = parse_ring(scanner);
  if (scanner.accept("blocks"))
    core.blocks = scanner.expect_integer("the blocks that share the tiles");
  if (scanner.accept("turns"))
    core.turns = static_cast<int>(scanner.expect_integer("the groups that take tiles in turn"));
  core.swapped = scanner.accept("swapped");
  core.tensor_store = scanner.accept("tensor_store");
  if (scanner.accept("ahead"))
    core.ahead = static_cast<int>(scanner.expect_integer("the buffers of operands"));
  if (scanner.accept("window"))
    core.window = static_cast<int>(scanner.expect_integer("the buffers of windows"));
  core.keeps_filter = scanner.accept("keep_filter");
  if (scanner.accept("cluster")) {
    core.cluster_rows = parse_cluster(scanner);
    core.cluster_columns = parse_cluster(scanner);
  }
  if (scanner.accept("mappers"))
    core.mappers = static_cast<int>(scanner.expect_integer("the groups that evaluate maps"));
  core.gathers = scanner.accept("gather");
  if (scanner.accept("parts"))
    core.cluster_parts = parse_cluster(scanner);
  if (scanner.accept("raster")) {
    scanner.expect("rows");
    core.raster = Raster::Rows;
  }
  core.k_inner = scanner.accept("k_inner");
  parse_roles(scanner, core);
}

void parse_line(const Nest &nest, Scanner &scanner, Schedule &schedule) {
  const int line = scanner.peek().line;
  if (scanner.accept("tile"))
    return parse_factors(nest, scanner, schedule, &Split::tile, line);
  if (scanner.accept("lane"))
    return parse_lanes(nest, scanner, schedule, line);
  if (scanner.accept("vec"))
    return parse_factors(nest, scanner, schedule, &Split::vec, line);
  if (scanner.accept("keep"))
    return parse_factors(nest, scanner, schedule, &Split::keep, line);
  if (scanner.accept("roll"))
    return parse_factors(nest, scanner, schedule, &Split::roll, line);
  if (scanner.accept("clip"))
    return parse_marks(nest, scanner, schedule, &Split::clip, line);
  if (scanner.accept("edge"))
    return parse_marks(nest, scanner, schedule, &Split::edge, line);
  if (scanner.accept("near"))
    return parse_marks(nest, scanner, schedule, &Split::near, line);
  if (scanner.accept("core"))
    return parse_core(scanner, schedule);
  if (scanner.accept("stage"))
    return parse_stage(nest, scanner, schedule, false);
  if (scanner.accept("produce"))
    return parse_stage(nest, scanner, schedule, true);
  if (scanner.accept("pack"))
    return parse_pack(scanner, schedule);
  if (scanner.accept("prefetch")) {
    schedule.stages[parse_input(scanner, schedule)].prefetch = true;
    return;
  }
  if (scanner.accept("stream"))
    return parse_stream(scanner, schedule);
  if (!scanner.accept("loop"))
    scanner.fail("tile, lane, vec, keep, near, roll, clip, edge, core, loop, pack, produce, "
                 "stage, prefetch or stream");
  schedule.order.clear();
  while (scanner.peek().kind == TokenKind::Name && scanner.peek().line == line)
    schedule.order.push_back(find_index(nest, scanner));
}

std::string lane_text(const Nest &nest, const Schedule &schedule) {
  if (schedule.lane_parts.empty())
    return factors(nest, schedule, &Split::lane);
  std::string text;
  for (const LanePart &part : schedule.lane_parts)
    text += fmt::format(" {}:{}", nest.indices[part.index].name, part.count);
  return text;
}

std::string roles_text(const Core &core) {
  std::string text = core.early ? " early" : "";
  if (core.lead != 0)
    text += fmt::format(" lead {}", core.lead);
  text += core.blends ? " blend" : "";
  text += core.tests_rows ? " test_rows" : "";
  if (core.math_registers != 0)
    text += fmt::format(" registers {} {}", core.copy_registers, core.math_registers);
  if (core.math_registers != 0 && core.mappers > 0)
    text += fmt::format(" {}", core.map_registers);
  return text;
}

std::string core_text(const Core &core) {
  std::string text = fmt::format(" {} rows {} warps {} {} ring {}", core.op->name, core.rows,
                                 core.warp_rows, core.warp_columns, core.ring);
  if (core.blocks != 0)
    text += fmt::format(" blocks {}", core.blocks);
  if (core.turns != 1)
    text += fmt::format(" turns {}", core.turns);
  text += core.swapped ? " swapped" : "";
  text += core.tensor_store ? " tensor_store" : "";
  if (core.ahead != 0)
    text += fmt::format(" ahead {}", core.ahead);
  if (core.window != 0)
    text += fmt::format(" window {}", core.window);
  text += core.keeps_filter ? " keep_filter" : "";
  if (core.cluster_rows * core.cluster_columns != 1)
    text += fmt::format(" cluster {} {}", core.cluster_rows, core.cluster_columns);
  if (core.mappers != 0)
    text += fmt::format(" mappers {}", core.mappers);
  text += core.gathers ? " gather" : "";
  if (core.cluster_parts != 1)
    text += fmt::format(" parts {}", core.cluster_parts);
  text += core.raster == Raster::Rows ? " raster rows" : "";
  text += core.k_inner ? " k_inner" : "";
  return text + roles_text(core);
}

std::string stage_text(const Nest &nest, const Schedule &schedule, std::size_t input) {
  const Stage &stage = schedule.stages[input];
  std::string text = fmt::format(" {}", input);
  if (stage.at)
    text += " at " + nest.indices[*stage.at].name;
  if (stage.layout != Layout::Plain)
    text += fmt::format(" {}", to_string(stage.layout));
  text += stage.twice ? " twice" : "";
  if (stage.ring > 0)
    text += fmt::format(" ring {}", stage.ring);
  if (stage.width != 1)
    text += fmt::format(" width {}", stage.width);
  return stage.rounds == Rounds::Loop ? text : fmt::format("{} {}", text, kRounds[stage.rounds]);
}

} // namespace

std::string_view to_string(Layout layout) { return kLayouts[layout]; }

std::string to_text(const Nest &nest, const Schedule &schedule) {
  std::string text = fmt::format("schedule {} {}\n", schedule.name, to_string(schedule.lanes));
  const auto line = [&](std::string_view word, const std::string &rest) {
    if (!rest.empty())
      text += fmt::format("  {:<6}{}\n", word, rest);
  };
  line("tile", factors(nest, schedule, &Split::tile));
  line("lane", lane_text(nest, schedule));
  line("vec", factors(nest, schedule, &Split::vec));
  line("keep", factors(nest, schedule, &Split::keep));
  const Core &core = schedule.core;
  if (has_core(schedule))
    line("core", core_text(core));
  std::string order;
  for (const IndexId i : schedule.order)
    order += " " + nest.indices[i].name;
  line("loop", order);
  line("near", marked(nest, schedule, &Split::near));
  line("roll", factors(nest, schedule, &Split::roll));
  line("clip", marked(nest, schedule, &Split::clip));
  line("edge", marked(nest, schedule, &Split::edge));
  for (std::size_t k = 0; k < schedule.fills.size(); ++k) {
    if (is_packed(schedule.fills[k]))
      line("pack", fmt::format(" {}", k));
    if (is_staged(schedule.fills[k]))
      line(schedule.fills[k] == Fill::Produced ? "produce" : "stage",
           stage_text(nest, schedule, k));
    if (schedule.stages[k].prefetch)
      line("prefetch", fmt::format(" {}", k));
    if (schedule.stages[k].stream != 0)
      line("stream", fmt::format(" {} registers {}", k, schedule.stages[k].stream));
  }
  return text;
}

Schedule parse_schedule(const Nest &nest, std::string_view text, const std::string &file) {
  Scanner scanner(text, file);
  Schedule schedule = scalar_schedule(nest);
  scanner.expect("schedule");
  schedule.name = scanner.expect_name("the schedule's name");
  if (scanner.accept(to_string(LaneKind::WorkItem))) {
    schedule.lanes = LaneKind::WorkItem;
  } else {
    scanner.expect(to_string(LaneKind::Vector));
  }
  while (!scanner.at_end())
    parse_line(nest, scanner, schedule);
  return schedule;
}

} // namespace tilefuse::schedule
