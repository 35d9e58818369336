// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/staging.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kLineChunks = 8; // 16-byte chunks over all banks

} // namespace

const CoreOp *core_op_for(const Nest &nest, const CoreShape &shape) {
  const bool is_of_wgmma = shape.columns > 0;
  const SideTypes types = side_types(nest, is_of_wgmma);
  const std::optional<DType> a = shape.swap_ab ? types.filter : types.data;
  const std::optional<DType> b = shape.swap_ab ? types.data : types.filter;
  for (const CoreOp &op : core_ops())
    if ((is_of_wgmma ? is_wgmma(op) && op.n == shape.columns : op.m == kCoreRows) &&
        op.a.type == a && op.b.type == b && op.tf32 == shape.tf32 && op.d.type == held_type(nest) &&
        op.k * size_bytes(op.a.type) == kStepBytes)
      return &op;
  return nullptr;
}

namespace {

// Whether copies of an input run along a depth that is one index and lies as it is in memory: the
// last of them may then bring what is left of it.
bool may_cut_runs(const Gemm &gemm, int input) {
  return !is_packed(gemm.schedule.fills[at(input)]) && !gemm.roles.has_blocks() &&
         !gemm.roles.is_turned(input) &&
         gemm.roles.depth_points == extent(gemm.nest, gemm.roles.contiguous(input));
}

} // namespace

std::int64_t core_copy_elems(const Gemm &gemm, int input) {
  const Source source = source_of(gemm.nest, gemm.schedule, input);
  const IndexId along = gemm.roles.contiguous(input);
  if (gemm.roles.data_apart && input == gemm.roles.data)
    return 0;
  const auto size = size_bytes(type_of(gemm.nest, gemm.nest.inputs[at(input)]));
  // A packed form ends with whole steps.
  const std::int64_t step = gemm.schedule.splits[at(along)].tile;
  const bool packed = is_packed(gemm.schedule.fills[at(input)]);
  const std::int64_t length =
      packed ? round_up(extent(gemm.nest, along), step) : extent(gemm.nest, along);
  for (const std::int64_t bytes : {16, 8, 4}) {
    const std::int64_t elems = bytes / size;
    bool divides = elems > 0 && source.offset % elems == 0 &&
                   (length % elems == 0 || may_cut_runs(gemm, input));
    for (const nest::Dim &dim : source.dims)
      for (std::size_t i = 0; i < dim.at.coeff.size(); ++i)
        if (i != at(along))
          divides = divides && dim.at.coeff[i] * dim.stride % elems == 0 &&
                    dim.at.constant * dim.stride % elems == 0;
    if (divides)
      return elems;
  }
  return 0;
}

bool core_gathers(const Gemm &gemm, int input) {
  return !gemm.roles.has_blocks() && core_copy_elems(gemm, input) == 0;
}

bool reads_words(const Gemm &gemm, int input) {
  const CoreOp &op = *gemm.core().op;
  const Fragment &fragment = input == gemm.roles.data ? op.a : op.b;
  return gemm.roles.is_turned(input) && fragment.turned == Turned::Words;
}

int a_input(const Gemm &gemm) { return gemm.core().swap_ab ? gemm.roles.filter : gemm.roles.data; }

int b_input(const Gemm &gemm) { return gemm.core().swap_ab ? gemm.roles.data : gemm.roles.filter; }

bool a_in_registers(const Gemm &gemm) {
  return gemm.is_wgmma() && reads_words(gemm, a_input(gemm));
}

bool turns_in_ring(const Gemm &gemm, int input) {
  return input == b_input(gemm) && turns_in_ring(gemm);
}

bool turns_in_ring(const Gemm &gemm) { return gemm.is_wgmma() && reads_words(gemm, b_input(gemm)); }

bool deals_points(const Gemm &gemm) { return a_in_registers(gemm) && turns_in_ring(gemm); }

namespace {

// Of channels in blocks.
RowBlocks row_blocks(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const std::optional<IndexId> pixel =
      in_rows(roles, schedule) ? neighbour_of(nest, roles) : std::nullopt;
  if (!pixel)
    return {};
  const nest::Dim &dim = *dim_of(nest.inputs[at(roles.data)], *pixel);
  RowBlocks row{.used = schedule.splits[*pixel].tile,
                .step = dim.at.coeff[*pixel] * (dim.stride / extent(nest, roles.depth()))};
  while (row.held < (row.used - 1) * row.step + 1)
    row.held *= 2;
  return row;
}

std::int64_t panel_of(const Gemm &gemm) {
  const std::int64_t widest = kPanelBytes / gemm.tile.elem_bytes;
  if (!gemm.roles.data_turned || !gemm.roles.filter_turned)
    return widest;
  std::int64_t columns = kStepBytes / gemm.tile.elem_bytes;
  while (columns < widest && columns < gemm.roles.channel_points)
    columns *= 2;
  return columns;
}

} // namespace

Gemm gemm_of(const Nest &nest, const Schedule &schedule) {
  const Core &core = schedule.core;
  Gemm gemm{.nest = nest, .schedule = schedule, .roles = core_roles(nest, schedule)};
  const CoreRoles &roles = gemm.roles;
  if (is_wgmma(*core.op))
    gemm.row = row_blocks(nest, schedule, roles);
  gemm.tile = {.rows = core.rows,
               .columns = schedule.splits[at(roles.channel)].tile,
               .depth = schedule.splits[at(roles.depth())].tile,
               .warp_rows = core.rows / std::max<std::int64_t>(1, core.warp_rows),
               .elem_bytes = size_bytes(type_of(nest, nest.inputs[at(roles.data)])),
               .spread = gemm.row.held / gemm.row.used};
  gemm.tile.warp_columns = gemm.tile.columns / std::max<std::int64_t>(1, core.warp_columns);
  gemm.panel = panel_of(gemm);
  if (schedule.pipes[at(roles.filter)].footprint == Footprint::StepHalo)
    gemm.halo = step_halo_of(nest, roles, gemm.tile.depth);
  return gemm;
}

std::vector<std::int64_t> depth_extents(const Gemm &gemm) {
  std::vector<std::int64_t> sizes;
  for (const IndexId i : gemm.roles.depths)
    sizes.push_back(extent(gemm.nest, i));
  if (gemm.halo.taps > 1)
    sizes.back() = gemm.halo.line;
  return sizes;
}

std::int64_t depth_points(const Gemm &gemm) {
  const std::vector<std::int64_t> sizes = depth_extents(gemm);
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

CoreSideTile core_side_tile(const CoreRoles &roles, const CoreTile &tile, int input) {
  const std::int64_t count = input == roles.data ? tile.rows : tile.columns;
  return roles.is_turned(input) ? CoreSideTile{tile.depth, count} : CoreSideTile{count, tile.depth};
}

Swizzle core_swizzle(std::int64_t row_bytes) {
  const std::int64_t chunks = std::min(row_bytes / 16, kLineChunks);
  return {.divisor = kLineChunks / chunks, .modulus = chunks};
}

bool exchanges(const Gemm &gemm) {
  const std::int64_t vec = gemm.run();
  if (gemm.is_wgmma())
    return gemm.roles.filter_turned && vec == kPanelVec;
  return gemm.roles.filter_turned ? !reads_words(gemm, gemm.roles.filter) : vec == 1;
}

std::int64_t aligned_run(const Gemm &gemm) {
  const nest::Linear out = nest::flat(gemm.nest.out, gemm.nest.indices.size());
  std::int64_t run = gemm.run();
  const auto divides = [&](std::int64_t apart) { return apart % run == 0; };
  for (std::size_t i = 0; i < out.coeff.size(); ++i)
    while (run > 1 && i != at(gemm.roles.channel) && !divides(out.coeff[i]))
      run /= 2;
  while (run > 1 && !divides(out.constant))
    run /= 2;
  return run;
}

std::int64_t turned_run(const Gemm &gemm) {
  return reads_words(gemm, gemm.roles.filter) ? kPairs : kExchangeVec;
}

// With wgmma as the result's type where nothing but its rounding follows the sum.
Exchange exchange_of(const Gemm &gemm) {
  const bool is_of_wgmma = gemm.is_wgmma();
  if (!exchanges(gemm))
    return {};
  const DType out = type_of(gemm.nest, gemm.nest.out);
  const program::Expr &post = gemm.nest.post;
  const bool is_rounding = post.kind == program::Expr::Kind::Cast && post.type == out &&
                           post.args[0].kind == program::Expr::Kind::Acc;
  const bool is_stored = is_of_wgmma && (is_rounding || post.kind == program::Expr::Kind::Acc);
  const std::int64_t vec = gemm.run();
  return {.columns =
              is_of_wgmma ? kPanelColumns : std::min(gemm.tile.warp_columns, kCoreLanes * vec),
          .type = is_stored ? out : held_type(gemm.nest),
          .is_stored = is_stored};
}

std::int64_t storing_warps(const Schedule &schedule) {
  const Core &core = schedule.core;
  return core.op->lanes() / kCoreLanes * core.warp_rows * core.warp_columns *
         schedule.roles.math.instances;
}

std::int64_t windows_of_tile(const Gemm &gemm) {
  return ceil_div(depth_points(gemm), gemm.tile.depth);
}

std::int64_t core_steps(const Gemm &gemm) {
  return windows_of_tile(gemm) * points_of(gemm.nest, gemm.roles.walked);
}

const nest::Dim *dim_of(const nest::Operand &operand, IndexId index) {
  const auto found =
      std::find_if(operand.dims.begin(), operand.dims.end(),
                   [&](const nest::Dim &dim) { return dim.at.coeff[at(index)] != 0; });
  return found == operand.dims.end() ? nullptr : &*found;
}

std::optional<IndexId> neighbour_of(const Nest &nest, const CoreRoles &roles) {
  const std::int64_t block = extent(nest, roles.depth());
  std::optional<IndexId> nearest;
  std::int64_t least = 0;
  for (const IndexId pixel : roles.pixels) {
    const nest::Dim *dim = dim_of(nest.inputs[at(roles.data)], pixel);
    const std::int64_t moved = dim == nullptr ? 0 : dim->at.coeff[at(pixel)] * dim->stride;
    if (moved <= 0 || dim->stride % block != 0 || (nearest && moved >= least))
      continue;
    nearest = pixel;
    least = moved;
  }
  return nearest;
}

bool in_panels(const CoreRoles &roles, const Schedule &schedule) {
  return roles.has_blocks() && !has_loading_warps(schedule);
}

bool in_rows(const CoreRoles &roles, const Schedule &schedule) {
  return in_panels(roles, schedule) && halo_stages(schedule) == 0;
}

} // namespace tilefuse::schedule
