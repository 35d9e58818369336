// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core_feeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using poly::Group;
using poly::MemberId;
using poly::Producer;
using Reason = std::optional<std::string>;

constexpr int kMostMappers = 2;
constexpr int kLeastCopied = 4; // windows: one copied, one mapped and two multiplied at a time
// Besides the accumulators of one instruction, which must fit what a launch gives (NVRTC 13.0,
// sm_90a: C7602).
constexpr std::int64_t kInstructionRegisters = 16;
constexpr std::int64_t kWindowRegisters = 26; // the same of a window's rows
constexpr std::int64_t kTwoRings = 8;         // of windows beside a filter that streams
constexpr std::int64_t kRegisters = 65536;    // of a block

// Whether what the input reads differs between rows of a tile, and not just between blocks and
// along the rows.
bool varies_by_rows(const Nest &nest, const CoreRoles &roles, int input) {
  const nest::Linear flat = nest::flat(nest.inputs[at(input)], nest.indices.size());
  const auto moves = [&](IndexId i) {
    return flat.coeff[at(i)] != 0 && nest.indices[at(i)].extent > 1;
  };
  const std::vector<IndexId> &own = input == roles.data ? roles.pixels : roles.channels;
  const std::vector<IndexId> &rows = roles.is_turned(input) ? roles.depths : own;
  return std::any_of(rows.begin(), rows.end(), moves) ||
         std::any_of(roles.walked.begin(), roles.walked.end(), moves);
}

// The first of the tensor's own type is mapped in place.
void put_own_type_first(const Producer &map, std::vector<int> &copied) {
  const DType type = slot_of(map.nest, map.nest.out).type;
  const auto own = std::find_if(copied.begin(), copied.end(), [&](int extra) {
    return slot_of(map.nest, map.nest.extras[at(extra)]).type == type;
  });
  if (own != copied.end())
    std::rotate(copied.begin(), own, own + 1);
}

bool is_same_box(const DataMap &a, const DataMap &b) {
  return a.dims == b.dims && a.box == b.box && a.lower == b.lower && a.upper == b.upper &&
         a.steps == b.steps && a.pixels == b.pixels;
}

// Why an extra cannot be copied as the tensor would be.
Reason wrong_copy(const Group &group, const Gemm &gemm, const CoreFeed &feed, int extra) {
  const Nest &own = gemm.nest;
  const Nest read = reading(group, feed.producer, extra);
  const DType type = slot_of(own, own.inputs[at(feed.input)]).type;
  const DType other = slot_of(read, read.inputs[at(feed.input)]).type;
  const bool is_first = extra == feed.copied.front();
  if (is_first ? other != type : size_bytes(other) != size_bytes(type))
    return fmt::format("the map reads {} where it gives {}", to_string(other), to_string(type));
  if (no_core_roles(read) || !(core_roles(read, gemm.schedule) == gemm.roles))
    return "the map reads a tensor that lies otherwise than the one it gives";
  const Gemm other_gemm = gemm_of(read, gemm.schedule);
  if (!is_wgmma(*gemm.core().op) || has_loading_warps(gemm.schedule))
    return core_copy_elems(other_gemm, feed.input) == core_copy_elems(gemm, feed.input)
               ? Reason{}
               : "the map reads shorter runs than it gives";
  const auto map_of = feed.input == gemm.roles.data ? data_map : turned_filter_map;
  const DataMap map = map_of(other_gemm);
  if (!map.wrong.empty())
    return map.wrong;
  return is_same_box(map, map_of(gemm)) ? Reason{}
                                        : "the map reads boxes of another form than it gives";
}

Reason wrong_feed(const Group &group, const Gemm &gemm, const CoreFeed &feed) {
  const Producer &map = producer_at(group, feed.producer);
  const CoreRoles &roles = gemm.roles;
  if (is_wgmma(*gemm.core().op) &&
      (roles.has_blocks() || (feed.input != roles.data && !roles.data_turned)))
    return "wgmma maps data, and filters beside turned data, that do not lie in blocks";
  if (has_loading_warps(gemm.schedule) && halo_stages(gemm.schedule) > 0)
    return "warps fill windows with what a copy spreads, not with what maps read";
  if (map.stored)
    return fmt::format("member {} is stored beside a ring", feed.producer);
  if (!is_wgmma(*gemm.core().op) && core_gathers(gemm, feed.input))
    return fmt::format("input {} is gathered, not copied", feed.input);
  if (is_packed(gemm.schedule.fills[at(feed.input)]))
    return fmt::format("input {} is packed and computed by a map", feed.input);
  if (feed.copied.empty())
    return fmt::format("member {} reads nothing that a ring could hold", feed.producer);
  for (const int extra : feed.copied)
    if (Reason reason = wrong_copy(group, gemm, feed, extra))
      return fmt::format("member {}: {}", feed.producer, *reason);
  return {};
}

// What is left beside those that map: for all of a tile's accumulators, and at launch for those of
// one instruction.
Reason wrong_registers(const Schedule &schedule, const CoreTile &tile) {
  const std::int64_t launch = kRegisters / group_size(schedule) / 8 * 8;
  const int math = schedule.roles.math.registers;
  const std::int64_t consumer = math > 0 ? math : launch;
  const bool is_streamed = halo_stages(schedule) > 0 && !has_resident(schedule);
  const std::int64_t needed = tile.warp_rows * tile.warp_columns / kGroupItems + kSpareRegisters +
                              (is_streamed ? kTwoRings : 0);
  const std::int64_t of_one =
      schedule.core.op->d.values() +
      (halo_stages(schedule) > 0 ? kWindowRegisters : kInstructionRegisters);
  return consumer >= std::max(needed, launch) && launch >= of_one
             ? Reason{}
             : fmt::format("{} registers beside those that map, {} at launch; it needs {} and {}",
                           consumer, launch, needed, of_one);
}

// A window's rows are numbered by its pixels.
Reason wrong_mapped_window(const Gemm &gemm) {
  std::int64_t pixels = 1;
  for (const std::int64_t size : window_box(gemm).sizes)
    pixels *= size;
  return pixels == window_rows(gemm) ? wrong_registers(gemm.schedule, gemm.tile)
                                     : "taps move a window where no pixel does";
}

// Groups of warps that map share whole rows of a tile, and leave the others registers.
Reason wrong_mappers(const Gemm &gemm, const std::vector<CoreFeed> &feeds) {
  const Core &core = gemm.core();
  if (!is_wgmma(*core.op))
    return gemm.schedule.roles.transform.groups == 0 ? Reason{}
                                                     : "maps of mma have no warps of their own";
  if (feeds.empty())
    return gemm.schedule.roles.transform.groups == 0 ? Reason{}
                                                     : "groups of warps map what no map feeds";
  const bool copies = gemm.schedule.roles.transform.groups == 0 && has_resident(gemm.schedule) &&
                      halo_stages(gemm.schedule) >= kLeastCopied;
  if (!copies && (gemm.schedule.roles.transform.groups < 1 ||
                  gemm.schedule.roles.transform.groups > kMostMappers))
    return fmt::format("{} groups of warps to map; it needs 1 to {}, or 0 beside a kept filter "
                       "with {} windows",
                       gemm.schedule.roles.transform.groups, kMostMappers, kLeastCopied);
  if (halo_stages(gemm.schedule) > 0)
    return wrong_mapped_window(gemm);
  const std::int64_t rows = gemm.roles.data_turned ? gemm.tile.depth : gemm.tile.rows;
  const std::int64_t row_bytes = gemm.roles.data_turned ? kPanelBytes : gemm.tile.row_bytes();
  const std::int64_t apart = kGroupItems * kChunkBytes / row_bytes;
  if (rows % apart != 0)
    return fmt::format("{} rows are not shared by {} work-items", rows, kGroupItems);
  return wrong_registers(gemm.schedule, gemm.tile);
}

} // namespace

nest::Nest reading(const Group &group, MemberId producer, int extra) {
  const Producer &map = producer_at(group, producer);
  const nest::Operand &read = map.nest.extras[at(extra)];
  const nest::Linear form = nest::flat(read, map.nest.indices.size());
  Nest nest = group.anchor;
  nest::Operand &input = nest.inputs[at(map.input)];
  const auto indices = poly::match_dims(input, map.nest).value();
  input.slot = nest.slots.next_id();
  nest.slots.push_back(slot_of(map.nest, read));
  input.offset = form.constant;
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (indices[d])
      input.dims[d].stride = form.coeff[*indices[d]];
  return nest;
}

std::vector<CoreFeed> core_feeds(const Group &group, const Gemm &gemm) {
  std::vector<CoreFeed> feeds;
  for (const MemberId p : producing_members(group)) {
    const Producer &map = producer_at(group, p);
    if (map.feed != poly::Feed::Map)
      continue;
    CoreFeed feed{.producer = p, .input = map.input};
    for (int e = 0; e < static_cast<int>(map.nest.extras.size()); ++e)
      (varies_by_rows(reading(group, p, e), gemm.roles, map.input) ? feed.copied : feed.read)
          .push_back(e);
    put_own_type_first(map, feed.copied);
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

Reason wrong_core_feeds(const Group &group, const Gemm &gemm) {
  for (const Producer &producer : group.producers)
    if (producer.feed == poly::Feed::Produce || producer.consumer != poly::kAnchor)
      return "the ring of a core instruction is filled by copies and maps of them";
  if (const std::optional<MemberId> spread = spread_of(group))
    if (Reason reason = wrong_spread(group, gemm, *spread))
      return reason;
  const std::vector<CoreFeed> feeds = core_feeds(group, gemm);
  for (const CoreFeed &feed : feeds)
    if (Reason reason = wrong_feed(group, gemm, feed))
      return reason;
  return wrong_mappers(gemm, feeds);
}

} // namespace tilefuse::schedule
