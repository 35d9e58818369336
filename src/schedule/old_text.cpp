// SPDX-License-Identifier: Apache-2.0
#include "schedule/old_text.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/text_numbers.h"

namespace tilefuse::schedule {
namespace {

// "early lead 2 blend test_rows registers 40 152 112".
void parse_roles(Scanner &scanner, WarpRoles &roles) {
  roles.load.early = scanner.accept("early");
  if (scanner.accept("lead"))
    roles.load.lead = parse_count(scanner, "copies begun ahead");
  roles.transform.selects = scanner.accept("blend");
  roles.math.tests_rows = scanner.accept("test_rows");
  if (!scanner.accept("registers"))
    return;
  roles.load.registers = parse_registers(scanner);
  roles.math.registers = parse_registers(scanner);
  if (roles.transform.groups > 0)
    roles.transform.registers = parse_registers(scanner);
}

// "blocks 132 turns 2 swapped tensor_store ahead 2 window 3 keep_filter".
void parse_forms(Scanner &scanner, Schedule &schedule, OldPipes &pipes) {
  if (scanner.accept("blocks"))
    schedule.tiles.persistent = scanner.expect_integer("the blocks that share the tiles");
  if (scanner.accept("turns"))
    schedule.roles.math.instances = parse_count(scanner, "groups that take tiles in turn");
  schedule.core.swap_ab = scanner.accept("swapped");
  if (scanner.accept("tensor_store"))
    schedule.store = Store::Tma;
  if (scanner.accept("ahead"))
    schedule.extra = {.engine = Engine::Tma, .stages = parse_count(scanner, "buffers of operands")};
  if (scanner.accept("window"))
    pipes.window = parse_count(scanner, "buffers of windows");
  pipes.keeps_filter = scanner.accept("keep_filter");
}

// "cluster 2 1 mappers 1 gather parts 4 raster rows k_inner".
void parse_order(Scanner &scanner, Schedule &schedule, OldPipes &pipes) {
  if (scanner.accept("cluster")) {
    schedule.tiles.cluster_m = parse_cluster(scanner);
    schedule.tiles.cluster_n = parse_cluster(scanner);
  }
  if (scanner.accept("mappers"))
    schedule.roles.transform.groups = parse_count(scanner, "groups that evaluate maps");
  pipes.gathers = scanner.accept("gather");
  if (scanner.accept("parts"))
    schedule.tiles.split_k = parse_cluster(scanner);
  if (scanner.accept("raster")) {
    scanner.expect("rows");
    schedule.tiles.raster = Raster::Rows;
  }
  schedule.core.k_inner = scanner.accept("k_inner");
}

} // namespace

OldPipes parse_old_core(Scanner &scanner, Schedule &schedule) {
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
  OldPipes pipes{.is_there = true, .ring = parse_stages(scanner)};
  parse_forms(scanner, schedule, pipes);
  parse_order(scanner, schedule, pipes);
  parse_roles(scanner, schedule.roles);
  return pipes;
}

void assign_old_pipes(const nest::Nest &nest, const OldPipes &pipes, Schedule &schedule) {
  if (!pipes.is_there || no_core_roles(nest, is_wgmma(*schedule.core.op)))
    return;
  const CoreRoles roles = core_roles(nest, schedule);
  Pipe &data = schedule.pipes[at(roles.data)];
  Pipe &filter = schedule.pipes[at(roles.filter)];
  const bool is_tma = is_wgmma(*schedule.core.op);
  data.engine = is_tma && !pipes.gathers ? Engine::Tma : Engine::CpAsync;
  filter.engine = is_tma ? Engine::Tma : Engine::CpAsync;
  data.stages = filter.stages = pipes.ring;
  for (const int input : {roles.data, roles.filter})
    if (!is_tma && core_gathers(gemm_of(nest, schedule), input))
      schedule.pipes[at(input)].engine = Engine::Items;
  if (pipes.window > 0) {
    data.footprint = Footprint::Halo;
    data.stages = pipes.window;
  }
  if (pipes.keeps_filter)
    filter.footprint = Footprint::Resident;
}

} // namespace tilefuse::schedule
