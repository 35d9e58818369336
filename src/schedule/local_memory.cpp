// SPDX-License-Identifier: Apache-2.0
#include "schedule/local_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"
#include "poly/row_group.h"
#include "schedule/blocks.h"
#include "schedule/dots.h"
#include "schedule/lane_reduction.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/mma/core_roles.h"
#include "schedule/result_tile.h"
#include "schedule/staging.h"
#include "schedule/wgmma/tile_sums.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Buffers = std::vector<LocalBuffer>;

constexpr std::int64_t kTurnBarriers = 2; // of groups that take tiles in turn

Buffers stages(const Nest &nest, const Schedule &schedule) {
  Buffers list;
  for (int k = 0; k < static_cast<int>(schedule.fills.size()); ++k)
    if (is_staged(schedule.fills[at(k)]))
      list.push_back({.use = LocalUse::Stage,
                      .number = k,
                      .name = fmt::format("s{}", k),
                      .type = held_type(nest, schedule, k),
                      .elems = buffer_elems(schedule, k, stage_tile(nest, schedule, k))});
  if (schedule.store == Store::Local)
    list.push_back({.use = LocalUse::Results,
                    .name = "results",
                    .type = type_of(nest, nest.out),
                    .elems = result_tile(nest, schedule).elems});
  if (const std::int64_t elems = lane_buffer_elems(nest, schedule); elems > 0)
    list.push_back(
        {.use = LocalUse::Lanes, .name = "lanes", .type = held_type(nest), .elems = elems});
  if (const std::int64_t elems = row_sums_elems(nest, schedule); elems > 0)
    list.push_back(
        {.use = LocalUse::Rows, .name = "row_sums", .type = held_type(nest), .elems = elems});
  return list;
}

// Elements of all buffers of one side of a matrix instruction.
std::int64_t side_elems(const Gemm &gemm, int input) {
  if (input == gemm.roles.data && halo_stages(gemm.schedule) > 0)
    return halo_stages(gemm.schedule) * window_elems(gemm);
  if (input == gemm.roles.filter && gemm.halo.taps > 1)
    return step_stages(gemm.schedule) * (gemm.tile.columns / gemm.halo_columns()) *
           halo_elems(gemm);
  const CoreSideTile side = core_side_tile(gemm.roles, gemm.tile, input);
  return step_stages(gemm.schedule) * side.rows * side.elems *
         (input == gemm.roles.data ? gemm.tile.spread : 1);
}

// What feeds a nest; of a nest alone, nothing.
struct Fed {
  const poly::Group *group = nullptr;
  std::vector<CoreFeed> feeds = {};
};

// Tiles of an input, or of what the map that makes it reads in its place and besides.
void add_side(const Gemm &gemm, const Fed &fed, int input, Buffers &list) {
  const std::string name = input == gemm.roles.data ? "data" : "filter";
  const bool is_of_wgmma = gemm.is_wgmma();
  LocalBuffer buffer{.use = input == gemm.roles.data ? LocalUse::Data : LocalUse::Filter,
                     .name = name,
                     .type = type_of(gemm.nest, gemm.nest.inputs[at(input)]),
                     .elems = side_elems(gemm, input)};
  const auto feed = std::find_if(fed.feeds.begin(), fed.feeds.end(),
                                 [&](const CoreFeed &each) { return each.input == input; });
  if (feed == fed.feeds.end())
    return list.push_back(std::move(buffer));
  const Nest &map = producer_at(*fed.group, feed->producer).nest;
  for (std::size_t k = 0; k < feed->copied.size(); ++k) {
    buffer.number = static_cast<int>(k);
    buffer.type = type_of(map, map.extras[at(feed->copied[k])]);
    if (k > 0)
      buffer.name =
          is_of_wgmma ? fmt::format("beside{}_{}", input, k) : fmt::format("{}_{}", name, k);
    list.push_back(buffer);
  }
}

void add_barriers(const Gemm &gemm, const Fed &fed, Buffers &list) {
  const bool has_feeds = !fed.feeds.empty();
  const auto add = [&](LocalUse use, const char *name, std::int64_t elems) {
    list.push_back({.use = use, .name = name, .type = DType::I64, .elems = elems});
  };
  // Full and empty; and ready, where its buffers are mapped, turned or dealt.
  const auto of_ring = [](std::int64_t count, bool is_made) { return (is_made ? 3 : 2) * count; };
  const bool has_windows = halo_stages(gemm.schedule) > 0;
  add(LocalUse::RingBarriers, "barriers",
      of_ring(step_stages(gemm.schedule),
              deals_kept_filter(gemm) || turns_in_ring(gemm) || (has_feeds && !has_windows)) +
          (multiplies_in_turn(gemm.schedule) ? kTurnBarriers : 0));
  if (has_windows)
    add(LocalUse::WindowBarriers, "window_barriers",
        of_ring(halo_stages(gemm.schedule), has_feeds));
  if (gemm.schedule.extra.stages > 0)
    add(LocalUse::OperandBarriers, "ahead_barriers",
        ahead_ring(gemm).full + ahead_ring(gemm).stages);
  if (gemm.schedule.tiles.split_k > 1) {
    const std::int64_t clusters = core_blocks(gemm) / gemm.schedule.tiles.cluster();
    const bool is_repeated = tile_grid(gemm).clusters() > clusters;
    add(LocalUse::PartBarriers, "given", is_repeated ? 2 : 1);
  }
}

void add_sums(const Gemm &gemm, const poly::Group &group, Buffers &list) {
  for (std::size_t k = 0; k < group.sums.size(); ++k)
    list.push_back({.use = LocalUse::Sums,
                    .number = static_cast<int>(k),
                    .name = fmt::format("sums{}", k),
                    .elems = sum_elems(gemm, sum_roles(group, gemm, group.sums[k]))});
}

void add_results(const Gemm &gemm, Buffers &list) {
  const Core &core = gemm.core();
  for (const AheadOperand &operand :
       gemm.schedule.extra.stages > 0 ? ahead_operands(gemm) : std::vector<AheadOperand>{})
    list.push_back({.use = LocalUse::Operand,
                    .number = operand.extra,
                    .name = fmt::format("ahead_{}", operand.extra),
                    .type = type_of(gemm.nest, gemm.nest.extras[at(operand.extra)]),
                    .elems = ahead_ring(gemm).stages * ahead_ring(gemm).elems});
  if (gemm.schedule.tiles.split_k > 1)
    list.push_back({.use = LocalUse::Parts,
                    .name = "parts",
                    .type = core.op->d.type,
                    .elems = gemm.tile.rows * gemm.tile.columns});
  if (gemm.schedule.store == Store::Tma) {
    const StorePanel panel = store_panel(gemm);
    list.push_back({.use = LocalUse::Boxes,
                    .name = "boxes",
                    .type = type_of(gemm.nest, gemm.nest.out),
                    .elems = storing_warps(gemm.schedule) * panel.boxes * panel.elems()});
  }
  if (const Exchange exchange = exchange_of(gemm); exchange.columns > 0)
    list.push_back({.use = LocalUse::Exchange,
                    .name = "exchange",
                    .type = exchange.type,
                    .elems = storing_warps(gemm.schedule) * exchange.elems()});
}

Buffers buffers_of(const Gemm &gemm, const Fed &fed) {
  Buffers list;
  add_side(gemm, fed, gemm.roles.data, list);
  add_side(gemm, fed, gemm.roles.filter, list);
  add_results(gemm, list);
  if (gemm.is_wgmma()) {
    if (fed.group != nullptr)
      add_sums(gemm, *fed.group, list);
    add_barriers(gemm, fed, list);
  }
  return list;
}

// Sums that warps add which share rows.
void add_row_parts(const Gemm &gemm, Buffers &list) {
  if (const std::int64_t sharers = gemm.core().warp_columns; sharers > 1)
    list.push_back({.use = LocalUse::Parts,
                    .name = "parts",
                    .type = gemm.core().op->d.type,
                    .elems = sharers * gemm.tile.rows * gemm.tile.columns});
}

// What the work-items of each row of a block's have of it.
Buffers row_lanes(const Nest &nest, const Schedule &schedule) {
  return {{.use = LocalUse::Lanes,
           .name = "row_lanes",
           .type = nest.acc_type,
           .elems = schedule.core.rows * schedule.core.warp_columns * kRowItems}};
}

// Barriers of parts fit into what the alignment of others leaves.
std::int64_t bytes_of(const LocalBuffer &buffer) {
  switch (buffer.use) {
  case LocalUse::RingBarriers:
  case LocalUse::WindowBarriers:
  case LocalUse::OperandBarriers:
    return kBoxAlign;
  case LocalUse::PartBarriers:
    return 0;
  default:
    return buffer.bytes();
  }
}

} // namespace

Buffers local_buffers(const Gemm &gemm) { return buffers_of(gemm, {}); }

Buffers local_buffers(const Nest &nest, const Schedule &schedule) {
  return has_core(schedule) ? local_buffers(gemm_of(nest, schedule)) : stages(nest, schedule);
}

Buffers local_buffers(const poly::Group &group, const Schedule &schedule, poly::MemberId member,
                      const Nest &nest) {
  if (is_statistic(group, member))
    return row_lanes(nest, schedule);
  if (!has_schedule(group, member))
    return {};
  const Schedule &own = member_schedule(schedule, member);
  if (member != poly::kAnchor || !has_core(own))
    return local_buffers(nest, own);
  const Gemm gemm = gemm_of(nest, own);
  Buffers all = buffers_of(gemm, {&group, core_feeds(group, gemm)});
  if (has_rows(group)) { // which are in registers
    std::erase_if(all, [](const LocalBuffer &each) { return each.use == LocalUse::Data; });
    add_row_parts(gemm, all);
  }
  return all;
}

std::int64_t local_bytes(const Buffers &buffers) {
  std::int64_t bytes = 0;
  for (const LocalBuffer &buffer : buffers)
    bytes += bytes_of(buffer);
  return bytes;
}

std::optional<std::string> wrong_local_memory(const Buffers &buffers, const Target &target) {
  const std::int64_t bytes = local_bytes(buffers);
  if (bytes <= target.local_bytes)
    return {};
  return fmt::format("staging needs {} bytes per block, the target has {}", bytes,
                     target.local_bytes);
}

std::int64_t ring_bytes(const Buffers &buffers) {
  std::int64_t bytes = 0;
  for (const LocalBuffer &buffer : buffers)
    if (buffer.use == LocalUse::Data || buffer.use == LocalUse::Filter)
      bytes += buffer.bytes();
  return bytes;
}

} // namespace tilefuse::schedule
