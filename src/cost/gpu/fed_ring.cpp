// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/fed_ring.h"

#include <algorithm>

#include "base/index.h"
#include "cost/expression.h"
#include "cost/footprint.h"
#include "nest/points.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/wgmma/tile_sums.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::cost {

double taps_of_window(const schedule::Gemm &gemm) {
  return static_cast<double>(points_of(gemm.nest, gemm.roles.walked));
}

namespace {

// That are mapped in a step; those of a window serve as many steps as there are taps.
double elems_of_step(const schedule::Gemm &gemm, const schedule::CoreSideTile &side) {
  if (halo_stages(gemm.schedule) == 0)
    return static_cast<double>(side.rows * side.elems);
  return static_cast<double>(window_rows(gemm) * side.elems) / taps_of_window(gemm);
}

// Of a window: of each round of units that the work-items have.
FedRing spread_ring(const poly::Group &group, const schedule::Gemm &gemm, poly::MemberId producer) {
  constexpr double kReadCycles = 44;  // of an element
  constexpr double kWriteCycles = 63; // of a row
  const nest::Nest &copy = producer_at(group, producer).nest;
  const schedule::SpreadPlan plan = spread_plan(group, gemm, producer);
  const double round = kReadCycles * static_cast<double>(plan.unit) +
                       kWriteCycles * static_cast<double>(plan.rows());
  FedRing fed;
  fed.spread_cycles = static_cast<double>(plan.rounds()) * round / taps_of_window(gemm);
  fed.memory_bytes = touched_bytes(copy, copy.inputs[0]) -
                     touched_bytes(gemm.nest, gemm.nest.inputs[at(gemm.roles.data)]);
  return fed;
}

// Of a tile of which each group of four warps adds up its own part, in operations of a warp (53
// kernels of ResNet-50 at batch 128 on an H200: 2.5 to 3 cycles an operation where products bound
// them, about 1 where memory does).
void add_sums(const schedule::Resolved &resolved, FedRing &fed) {
  constexpr double kOperation = 2.6; // cycles
  constexpr double kRounded = 1.5;   // operations on an accumulator
  constexpr double kAdded = 1.5;     // on a term of it
  constexpr double kBeside = 1;      // on what it is added up with
  constexpr double kExchanged = 3.5; // on a sum that lanes exchange
  constexpr double kMeetings = 200;  // cycles of a tile's warps, with the join of their sums
  const schedule::Gemm &gemm = *resolved.gemms[poly::kAnchor];
  for (const poly::TileSum &sum : resolved.group.sums) {
    const schedule::SumRoles roles = sum_roles(resolved.group, gemm, sum);
    const schedule::SumShares shares = sum_shares(gemm);
    const double terms = chooses_by_copy(sum.nest, roles) ? 2 : static_cast<double>(roles.copies);
    const auto sums = static_cast<double>(shares.channels * roles.copies);
    const auto beside = static_cast<double>(
        std::count_if(roles.beside.begin(), roles.beside.end(),
                      [](const std::optional<int> &extra) { return extra.has_value(); }));
    fed.sum_cycles += kOperation * (static_cast<double>(shares.channels * shares.rows) *
                                        (kRounded + kAdded * terms + kBeside * beside) +
                                    kExchanged * sums) +
                      kMeetings;
    fed.memory_bytes += touched_bytes(sum.nest, sum.nest.out);
  }
}

// Of a chunk of 16 bytes: reads, conversions and the write; whether the padding has it and where it
// lies; and of each element what the map says of tensors (numbers of channels are at hand).
FedRing mapped_ring(const schedule::Resolved &resolved) {
  const poly::Group &group = resolved.group;
  const schedule::Gemm &gemm = resolved.gemms[poly::kAnchor].value();
  if (const std::optional<poly::MemberId> spread = schedule::spread_of(group))
    return spread_ring(group, gemm, *spread);
  constexpr double kChunkInstructions = 12;
  constexpr double kStreamInstructions = 2;
  constexpr double kGuardInstructions = 36; // of a chunk that may lie in the padding
  constexpr double kBlendInstructions = 26; // the same beside a kept filter, without a branch
  constexpr double kRounding = 0.5;         // of an element
  const schedule::CoreTile &tile = gemm.tile;
  FedRing fed;
  for (const schedule::CoreFeed &feed : resolved.feeds) {
    const nest::Nest &map = producer_at(group, feed.producer).nest;
    const schedule::CoreSideTile side = core_side_tile(gemm.roles, tile, feed.input);
    const auto elems = elems_of_step(gemm, side);
    const auto chunk = static_cast<double>(tile.chunk());
    const auto copied = static_cast<double>(feed.copied.size());
    const double slots = expression_slots(map.post) - static_cast<double>(feed.read.size());
    const std::vector<nest::Dim> &dims = group.anchor.inputs[at(feed.input)].dims;
    const bool is_guarded =
        gemm.is_wgmma() &&
        std::any_of(dims.begin(), dims.end(), [](const nest::Dim &dim) { return dim.guarded; });
    const double guard = !is_guarded                             ? 0
                         : gemm.schedule.roles.transform.selects ? kBlendInstructions
                                                                 : kGuardInstructions;
    constexpr double kWarp = kCoreLanes;
    fed.issued +=
        elems / chunk / kWarp *
        (kChunkInstructions + guard + kStreamInstructions * copied + (slots + kRounding) * chunk);
    const double beside = (copied - 1) * elems * static_cast<double>(tile.elem_bytes);
    fed.copied_bytes += beside;
    fed.local_bytes += beside * step_stages(gemm.schedule);
    const auto bytes_of = [&](const nest::Operand &operand) {
      const nest::Slot &slot = map.slots[operand.slot];
      return static_cast<double>(slot.elems * size_bytes(slot.type));
    };
    // What is read of the map's result is read of what the map reads.
    const nest::Operand &read = group.anchor.inputs[at(feed.input)];
    const double share = touched_bytes(group.anchor, read) / bytes_of(map.out);
    fed.memory_bytes -= share * bytes_of(map.out);
    for (const nest::Operand &extra : map.extras)
      fed.memory_bytes += share * bytes_of(extra);
  }
  return fed;
}

} // namespace

FedRing fed_ring(const schedule::Resolved &resolved) {
  FedRing fed = mapped_ring(resolved);
  add_sums(resolved, fed);
  return fed;
}

} // namespace tilefuse::cost
