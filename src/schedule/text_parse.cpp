// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "nest/index.h"
#include "schedule/old_text.h"
#include "schedule/text.h"
#include "schedule/text_numbers.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

class Parser {
public:
  Parser(const Nest &nest, std::string_view text, const std::string &file)
      : nest_(nest), scanner_(text, file), schedule_(scalar_schedule(nest)) {}
  Schedule run();

private:
  // A line's first word, the word of the release before, and what reads the rest.
  struct Line {
    std::string_view word, old;
    void (Parser::*read)();
  };
  static const std::array<Line, 21> kLines;

  bool is_on_line() const {
    return scanner_.peek().kind == TokenKind::Name && scanner_.peek().line == line_;
  }
  IndexId index();
  template <std::int64_t Split::*member> void factors();
  template <bool Split::*member> void marks();
  void lanes();
  std::size_t input();
  void pack();
  void engine(Pipe &pipe);
  void stage(Fill fill);
  void stage() { stage(Fill::Local); }
  void produce() { stage(Fill::Produced); }
  void prefetch() { schedule_.pipes[input()].prefetch = true; }
  void pipeline();
  void loop();
  void mma();
  void dot();
  void old_core() { old_ = parse_old_core(scanner_, schedule_); }
  void pipe();
  void role();
  void tiles();
  void store();
  void line();

  const Nest &nest_;
  Scanner scanner_;
  Schedule schedule_;
  OldPipes old_;
  int line_ = 0;
};

const std::array<Parser::Line, 21> Parser::kLines = {{
    {"tile", "", &Parser::factors<&Split::tile>},
    {"lane", "", &Parser::lanes},
    {"vec", "", &Parser::factors<&Split::vec>},
    {"reg", "keep", &Parser::factors<&Split::keep>},
    {"slide", "roll", &Parser::factors<&Split::roll>},
    {"trim", "clip", &Parser::marks<&Split::clip>},
    {"peel", "edge", &Parser::marks<&Split::edge>},
    {"blocked", "near", &Parser::marks<&Split::near>},
    {"mma", "", &Parser::mma},
    {"wgmma", "", &Parser::mma},
    {"dot", "", &Parser::dot},
    {"loop", "", &Parser::loop},
    {"stage", "", &Parser::stage},
    {"produce", "", &Parser::produce},
    {"pack", "", &Parser::pack},
    {"prefetch", "", &Parser::prefetch},
    {"pipeline", "stream", &Parser::pipeline},
    {"pipe", "", &Parser::pipe},
    {"role", "", &Parser::role},
    {"order", "", &Parser::tiles},
    {"store", "", &Parser::store},
}};

IndexId Parser::index() {
  const Token token = scanner_.peek();
  const std::string name = scanner_.expect_name("an index");
  for (const IndexId i : nest_.indices.ids())
    if (nest_.indices[i].name == name)
      return i;
  throw Error(ErrorCode::Syntax, fmt::format("the nest has no index '{}'", name),
              scanner_.where(token));
}

template <std::int64_t Split::*member> void Parser::factors() {
  while (is_on_line()) {
    const IndexId of = index();
    scanner_.expect(":");
    schedule_.splits[of].*member = scanner_.expect_integer("a factor");
  }
}

template <bool Split::*member> void Parser::marks() {
  while (is_on_line())
    schedule_.splits[index()].*member = true;
}

// Parts may name an index several times; a list is kept only where there are several.
void Parser::lanes() {
  std::vector<LanePart> parts;
  while (is_on_line()) {
    const IndexId of = index();
    scanner_.expect(":");
    const Token token = scanner_.peek();
    const std::int64_t count = scanner_.expect_integer("a factor");
    std::int64_t &lane = schedule_.splits[of].lane;
    if (__builtin_mul_overflow(lane, count, &lane))
      throw Error(ErrorCode::Limit, "too many lanes", scanner_.where(token));
    parts.push_back({of, count});
  }
  if (parts.size() > 1)
    schedule_.lane_parts = parts;
}

std::size_t Parser::input() {
  const Token token = scanner_.peek();
  const std::int64_t input = scanner_.expect_integer("an input");
  if (input < 0 || static_cast<std::size_t>(input) >= schedule_.fills.size())
    throw Error(ErrorCode::Syntax, fmt::format("the nest has no input {}", input),
                scanner_.where(token));
  return static_cast<std::size_t>(input);
}

void Parser::pack() {
  Fill &fill = schedule_.fills[input()];
  fill = is_staged(fill) ? Fill::PackedLocal : Fill::Packed;
}

// "tma stages 3"; of the release before, "twice" and "ring 3".
void Parser::engine(Pipe &pipe) {
  for (const auto &[engine, word] : kEngines.rows)
    if (scanner_.accept(word))
      pipe.engine = engine;
  if (scanner_.accept("twice"))
    pipe.stages = 2;
  if (scanner_.accept("ring")) {
    pipe.engine = Engine::CpAsync;
    pipe.stages = parse_stages(scanner_);
  }
  if (scanner_.accept("stages"))
    pipe.stages = parse_stages(scanner_);
}

// "stage 0", "stage 1 at c transposed stages 2 width 4 hold", "produce 0 at c".
void Parser::stage(Fill fill) {
  const std::size_t number = input();
  Fill &of = schedule_.fills[number];
  of = is_packed(of) ? Fill::PackedLocal : fill;
  Pipe &pipe = schedule_.pipes[number];
  if (scanner_.accept("at"))
    pipe.at = index();
  if (scanner_.accept(kLayouts[Layout::Transposed]) || scanner_.accept("turned"))
    pipe.layout = Layout::Transposed;
  if (scanner_.accept(kLayouts[Layout::Odd]))
    pipe.layout = Layout::Odd;
  engine(pipe);
  if (scanner_.accept("width"))
    pipe.width = parse_width(scanner_);
  for (const Rounds rounds : {Rounds::Unrolled, Rounds::Held})
    if (scanner_.accept(kRounds[rounds]))
      pipe.rounds = rounds;
}

// "pipeline 1 registers 3".
void Parser::pipeline() {
  Pipe &pipe = schedule_.pipes[input()];
  scanner_.expect("registers");
  pipe.stream = parse_stages(scanner_);
}

void Parser::loop() {
  schedule_.order.clear();
  while (is_on_line())
    schedule_.order.push_back(index());
}

// "m16n8k16.f16.f32 m 128 warps 2 2 swap_ab k_inner".
void Parser::mma() {
  const Token token = scanner_.peek();
  Core &core = schedule_.core;
  core.op = find_core_op(scanner_.expect_name("a matrix instruction"));
  if (core.op == nullptr)
    throw Error(ErrorCode::Syntax, fmt::format("there is no matrix instruction '{}'", token.text),
                scanner_.where(token));
  scanner_.expect("m");
  core.rows = scanner_.expect_integer("rows of a block");
  scanner_.expect(is_wgmma(*core.op) ? "warpgroups" : "warps");
  core.warp_rows = scanner_.expect_integer("warps over the rows");
  core.warp_columns = scanner_.expect_integer("warps over the columns");
  core.swap_ab = scanner_.accept("swap_ab");
  core.k_inner = scanner_.accept("k_inner");
}

void Parser::dot() {
  const Token token = scanner_.peek();
  schedule_.dot = find_dot_op(scanner_.expect_name("a dot product"));
  if (schedule_.dot == nullptr)
    throw Error(ErrorCode::Syntax, fmt::format("there is no dot product '{}'", token.text),
                scanner_.where(token));
}

// "pipe 0 halo tma stages 3", "pipe extra tma stages 4 epi_n 32".
void Parser::pipe() {
  Pipe &pipe = scanner_.accept("extra") ? schedule_.extra : schedule_.pipes[input()];
  for (const Footprint footprint : {Footprint::Halo, Footprint::StepHalo, Footprint::Resident})
    if (scanner_.accept(kFootprints[footprint]))
      pipe.footprint = footprint;
  engine(pipe);
  if (&pipe == &schedule_.extra && scanner_.accept("epi_n"))
    pipe.epi_n = parse_count(scanner_, "columns of an epilogue tile");
}

// "role load registers 40 early lead 2", "role transform groups 1 registers 112 select", "role
// math pingpong 2 registers 232 test_rows".
void Parser::role() {
  WarpRoles &roles = schedule_.roles;
  const auto registers = [&](int &count) {
    if (scanner_.accept("registers"))
      count = parse_registers(scanner_);
  };
  if (scanner_.accept("load")) {
    registers(roles.load.registers);
    roles.load.early = scanner_.accept("early");
    if (scanner_.accept("lead"))
      roles.load.lead = parse_count(scanner_, "copies begun ahead");
  } else if (scanner_.accept("transform")) {
    if (scanner_.accept("groups"))
      roles.transform.groups = parse_count(scanner_, "groups that evaluate maps");
    registers(roles.transform.registers);
    roles.transform.selects = scanner_.accept("select");
  } else {
    scanner_.expect("math");
    if (scanner_.accept("pingpong"))
      roles.math.instances = parse_count(scanner_, "groups that take tiles in turn");
    registers(roles.math.registers);
    roles.math.tests_rows = scanner_.accept("test_rows");
  }
}

// "order persistent 132 cluster 2 1 split_k 4 raster m".
void Parser::tiles() {
  TileOrder &tiles = schedule_.tiles;
  if (scanner_.accept("persistent"))
    tiles.persistent = scanner_.expect_integer("the blocks that share the tiles");
  if (scanner_.accept("cluster")) {
    tiles.cluster_m = parse_cluster(scanner_);
    tiles.cluster_n = parse_cluster(scanner_);
  }
  if (scanner_.accept("split_k"))
    tiles.split_k = parse_cluster(scanner_);
  if (scanner_.accept("raster")) {
    scanner_.expect("m");
    tiles.raster = Raster::Rows;
  }
}

void Parser::store() {
  const std::optional<Store> store = kStores.find(scanner_.peek().text);
  if (!store)
    scanner_.fail("direct, local or tma");
  scanner_.next();
  schedule_.store = *store;
}

void Parser::line() {
  line_ = scanner_.peek().line;
  if (scanner_.accept("core"))
    return old_core();
  for (const Line &each : kLines)
    if (scanner_.accept(each.word) || (!each.old.empty() && scanner_.accept(each.old)))
      return (this->*each.read)();
  std::string words;
  for (const Line &each : kLines)
    words += fmt::format("{}{}", each.word, &each == &kLines.back() ? "" : ", ");
  scanner_.fail(words);
}

Schedule Parser::run() {
  scanner_.expect("schedule");
  schedule_.name = scanner_.expect_name("the schedule's name");
  if (scanner_.accept(to_string(LaneKind::WorkItem))) {
    schedule_.lanes = LaneKind::WorkItem;
  } else {
    scanner_.expect(to_string(LaneKind::Vector));
  }
  while (!scanner_.at_end())
    line();
  assign_old_pipes(nest_, old_, schedule_);
  return std::move(schedule_);
}

} // namespace

Schedule parse_schedule(const nest::Nest &nest, std::string_view text, const std::string &file) {
  return Parser(nest, text, file).run();
}

} // namespace tilefuse::schedule
