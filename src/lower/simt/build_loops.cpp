// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/build_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lower/context.h"
#include "lower/members.h"
#include "lower/simt/stage.h"
#include "lower/simt/store_tile.h"
#include "lower/simt/tile_builder.h"
#include "nest/index.h"
#include "schedule/guards.h"
#include "schedule/rolling.h"
#include "schedule/staging.h"

namespace tilefuse::lower {
namespace {

using kernel::ForKind;
using kernel::VarId;

std::int64_t grid_count(const Context &cx, IndexId i) {
  const std::int64_t points = cx.schedule.splits[i].of_block();
  return (extent(cx.nest, i) + points - 1) / points;
}

// The block's number taken apart, the innermost looped index fastest.
Stmts declare_origins(Context &cx) {
  Stmts lets;
  ExprRef rest = cx.build.block();
  for (auto i = cx.schedule.order.rbegin(); i != cx.schedule.order.rend(); ++i) {
    const IndexId index = *i;
    if (!is_output(cx.nest, index) || grid_count(cx, index) == 1)
      continue;
    const ExprRef count = cx.build.integer(grid_count(cx, index));
    const VarId var = cx.build.variable("o_" + cx.nest.indices[index].name, {});
    const ExprRef points = cx.build.integer(cx.schedule.splits[index].of_block());
    lets.push_back(cx.build.let(var, cx.build.mul(cx.build.mod(rest, count), points)));
    cx.origin[index] = cx.build.var(var);
    rest = cx.build.div(rest, count);
  }
  return lets;
}

// The work-item's number taken apart into its offset in each index.
Stmts declare_lanes(Context &cx) {
  Stmts lets;
  const std::vector<schedule::LanePart> parts = lane_digits(cx.schedule);
  if (cx.block_size() == 1)
    return lets;
  Indexed<IndexId, std::int64_t> weight(cx.nest.indices.size(), 1);
  std::int64_t below = 1; // work-items of the parts further right
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const IndexId index = part->index;
    ExprRef digit = cx.build.div(cx.build.lane(), below);
    below *= part->count;
    if (below < cx.block_size())
      digit = cx.build.mod(digit, part->count);
    const std::int64_t scale = weight[index] * cx.schedule.splits[index].lane_stride();
    cx.lane_at[index] = cx.build.add(cx.lane_at[index], cx.build.mul(digit, scale));
    weight[index] *= part->count;
  }
  if (parts.size() == 1)
    return lets;
  for (const IndexId i : cx.nest.indices.ids()) {
    if (weight[i] == 1)
      continue;
    const VarId var = cx.build.variable("l_" + cx.nest.indices[i].name, {});
    lets.push_back(cx.build.let(var, cx.lane_at[i]));
    cx.lane_at[i] = cx.build.var(var);
  }
  return lets;
}

// Whether the producer is told which rows of the index to compute.
bool takes_rows(const Context &cx, IndexId index) {
  return cx.rows_end != nullptr && schedule::rolled_index(cx.schedule) == index;
}

StmtRef step_variants(Context &cx, IndexId index, StepSizes &sizes);

// A body for each step at the ends of an index, chosen by its first point, and one for the rest.
StmtRef edge_variants(Context &cx, IndexId index, StepSizes &sizes) {
  const std::int64_t step = cx.schedule.splits[index].step();
  const std::int64_t steps = (extent(cx.nest, index) + step - 1) / step;
  const std::vector<schedule::EdgeStep> edges = edge_steps(cx.nest, cx.schedule, index);
  const ExprRef at = cx.build.add(cx.origin[index], cx.inside[index]);
  const IndexId next{to_int(index) + 1};
  StmtRef otherwise = nullptr;
  if (static_cast<std::int64_t>(edges.size()) < steps) {
    sizes[index] = step;
    otherwise = step_variants(cx, next, sizes);
  }
  for (const schedule::EdgeStep &edge : edges) {
    cx.first[index] = cx.build.integer(edge.first);
    sizes[index] = edge.points;
    const StmtRef body = step_variants(cx, next, sizes);
    const ExprRef is_here = cx.build.equal(at, cx.first[index]);
    otherwise = otherwise ? cx.build.branch(is_here, body, otherwise) : body;
    cx.first[index] = nullptr;
  }
  return otherwise;
}

// Chooses, index by index, between the body of a full step and that of the partial last one.
StmtRef step_variants(Context &cx, IndexId index, StepSizes &sizes) {
  const IndexId next{to_int(index) + 1};
  if (!is_output(cx.nest, index))
    return register_tile(cx, sizes);
  if (cx.schedule.splits[index].edge)
    return edge_variants(cx, index, sizes);
  if (takes_rows(cx, index))
    return step_variants(cx, next, sizes);
  const std::int64_t step = cx.schedule.splits[index].step();
  const std::int64_t extent = nest::extent(cx.nest, index);
  const auto body = [&](std::int64_t points) {
    sizes[index] = points;
    return step_variants(cx, next, sizes);
  };
  if (extent % step == 0)
    return body(step);
  if (extent < step)
    return body(extent);
  const ExprRef end = cx.build.add(cx.build.add(cx.origin[index], cx.inside[index]), step);
  const ExprRef is_full = cx.build.scalar(ScalarOp::Le, {end, cx.build.integer(extent)});
  const StmtRef full = body(step);
  return cx.build.branch(is_full, full, body(extent % step));
}

StmtRef step_loops(Context &cx, std::size_t level, StepSizes &sizes);

// Whole steps of the rows that a producer is told to compute, then those left one by one.
StmtRef row_loops(Context &cx, std::size_t level, StepSizes &sizes) {
  kernel::Builder &b = cx.build;
  const IndexId index = cx.schedule.order[level];
  const std::int64_t step = cx.schedule.splits[index].step();
  const auto loop = [&](ExprRef begin, ExprRef end, std::int64_t rows) {
    const VarId var = b.variable("i_" + cx.nest.indices[index].name, {});
    cx.inside[index] = b.var(var);
    sizes[index] = rows;
    return b.loop(var, ForKind::Serial, begin, end, rows, step_loops(cx, level + 1, sizes));
  };
  if (step == 1)
    return loop(cx.rows_begin, cx.rows_end, 1);
  Stmts body;
  const ExprRef count = b.div(b.sub(cx.rows_end, cx.rows_begin), step);
  const ExprRef whole = named(b, body, "whole", b.add(cx.rows_begin, b.mul(count, step)));
  body.push_back(loop(cx.rows_begin, whole, step));
  body.push_back(loop(whole, cx.rows_end, 1));
  return b.block(std::move(body));
}

// Whether the loops from there on fill the buffer in which results are turned.
bool is_filled_from(const Context &cx, std::size_t level) {
  return cx.schedule.store == schedule::Store::Local && cx.turned == nullptr &&
         level >= result_tile(cx.nest, cx.schedule).level;
}

// The steps that fill the buffer, and what takes their results to memory.
StmtRef turned_steps(Context &cx, std::size_t level, StepSizes &sizes) {
  const schedule::ResultTile tile = result_tile(cx.nest, cx.schedule);
  cx.turned = &tile;
  cx.turned_buffer = declare_local(cx, schedule::LocalUse::Results);
  const StmtRef steps = step_loops(cx, level, sizes);
  const StmtRef store = store_tile(cx);
  cx.turned = nullptr;
  return cx.build.block({steps, store});
}

// Serial loops over the steps of a block's tile, outermost first.
StmtRef step_loops(Context &cx, std::size_t level, StepSizes &sizes) {
  while (level < cx.schedule.order.size()) {
    const IndexId i = cx.schedule.order[level];
    if (is_output(cx.nest, i) &&
        (cx.schedule.splits[i].tile > cx.schedule.splits[i].step() || takes_rows(cx, i)))
      break;
    ++level;
  }
  if (is_filled_from(cx, level))
    return turned_steps(cx, level, sizes);
  if (level == cx.schedule.order.size()) {
    if (cx.is_vector())
      return step_variants(cx, IndexId{0}, sizes);
    for (const IndexId i : output_indices(cx.nest))
      sizes[i] = points_of_step(cx.nest, cx.schedule, i);
    return register_tile(cx, sizes);
  }
  const IndexId index = cx.schedule.order[level];
  if (takes_rows(cx, index))
    return row_loops(cx, level, sizes);
  const schedule::Split &split = cx.schedule.splits[index];
  const std::int64_t extent = nest::extent(cx.nest, index);
  const VarId var = cx.build.variable("i_" + cx.nest.indices[index].name, {});
  ExprRef end = cx.build.integer(std::min(split.tile, extent));
  if (extent % split.tile != 0)
    end = cx.build.min(end, cx.build.sub(extent, cx.origin[index]));
  cx.inside[index] = cx.build.var(var);
  const StmtRef body = step_loops(cx, level + 1, sizes);
  return cx.build.loop(var, ForKind::Serial, 0, end, split.step(), body);
}

// The tiles of a block, one behind the other along the rolled index.
StmtRef tiles_of_block(Context &cx) {
  const std::optional<IndexId> rolled = schedule::rolled_index(cx.schedule);
  if (!rolled)
    return tile_loops(cx);
  kernel::Builder &b = cx.build;
  const IndexId index = *rolled;
  const schedule::Split &split = cx.schedule.splits[index];
  const ExprRef first = cx.origin[index];
  const ExprRef end = b.min(b.add(first, split.of_block()), extent(cx.nest, index));
  const VarId var = b.variable("t_" + cx.nest.indices[index].name, {});
  cx.origin[index] = b.var(var);
  cx.is_first = b.equal(b.var(var), first);
  return b.loop(var, ForKind::Serial, first, end, split.tile, tile_loops(cx));
}

} // namespace

StmtRef tile_loops(Context &cx) {
  Stmts body;
  StageOffsets offsets;
  body.push_back(declare_offsets(cx, false, offsets));
  if (const StmtRef fills = fill_stages(cx, std::nullopt, offsets)) {
    body.push_back(fills);
    if (cx.block_size() > 1)
      body.push_back(cx.build.barrier());
  }
  StepSizes sizes(cx.outputs(), 1);
  body.push_back(step_loops(cx, 0, sizes));
  return cx.build.block(std::move(body));
}

kernel::Kernel build_loops(const poly::Group &group, const schedule::Schedule &schedule,
                           const Target &target, FillProduced fill_produced) {
  return group_kernel(group, schedule, target, [fill_produced](Members &members) {
    members.fill_produced = fill_produced;
    Context &cx = members.contexts[0];
    Stmts body = declare_origins(cx);
    for (Context &member : members.contexts)
      body.push_back(cx.build.block(declare_lanes(member)));
    body.push_back(tiles_of_block(cx));
    return cx.build.block(std::move(body));
  });
}

} // namespace tilefuse::lower
