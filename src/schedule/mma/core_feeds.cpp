// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core_feeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "schedule/mma/core_pipes.h"
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

bool is_same_box(const TileMap &a, const TileMap &b) {
  return a.dims == b.dims && a.box == b.box && a.lower == b.lower && a.upper == b.upper &&
         a.steps == b.steps && a.place == b.place;
}

// Whether an extra's tiles are copied as the tensor's would be; `wrong` says why no map copies them.
bool copies_alike(const Group &group, const Gemm &gemm, const CoreFeed &feed, int extra,
                  std::string &wrong) {
  const Nest &own = gemm.nest;
  const Nest read = reading(group, feed.producer, extra);
  const DType type = slot_of(own, own.inputs[at(feed.input)]).type;
  const DType other = slot_of(read, read.inputs[at(feed.input)]).type;
  const bool is_first = extra == feed.copied.front();
  if (is_first ? other != type : size_bytes(other) != size_bytes(type))
    return false;
  if (no_core_roles(read, gemm.is_wgmma()) || !(core_roles(read, gemm.schedule) == gemm.roles))
    return false;
  const Gemm other_gemm = gemm_of(read, gemm.schedule);
  if (!gemm.is_wgmma() || has_loading_warps(gemm.schedule))
    return core_copy_elems(other_gemm, feed.input) == core_copy_elems(gemm, feed.input);
  const auto map_of = feed.input == gemm.roles.data ? data_map : filter_map;
  const TileMap map = map_of(other_gemm);
  wrong = map.wrong;
  return map.wrong.empty() && is_same_box(map, map_of(gemm));
}

// Whether the input's pipe brings something that the map can be evaluated on.
bool can_transform(const Gemm &gemm, const CoreFeed &feed) {
  if (feed.copied.empty() || core_cuts_runs(gemm, feed.input) || gemm.halo.taps > 1 ||
      a_in_registers(gemm) || turns_in_ring(gemm))
    return false;
  if (!gemm.is_wgmma())
    return !core_gathers(gemm, feed.input);
  return !gemm.roles.has_blocks() && (feed.input == gemm.roles.data || gemm.roles.data_turned) &&
         !(has_loading_warps(gemm.schedule) && halo_stages(gemm.schedule) > 0);
}

Reason no_transform(int input, MemberId member) {
  return fmt::format("the pipe of input {} brings nothing that member {} could be evaluated on",
                     input, member);
}

// Windows that warps of wgmma write take what one copy spreads, to the data.
bool can_spread(const Group &group, const Gemm &gemm, const Producer &copy) {
  return has_loading_warps(gemm.schedule) && halo_stages(gemm.schedule) > 0 &&
         copy.input == gemm.roles.data && group.producers.size() == 1;
}

Reason wrong_feed(const Group &group, const Gemm &gemm, const CoreFeed &feed) {
  const Producer &map = producer_at(group, feed.producer);
  if (!can_transform(gemm, feed))
    return no_transform(feed.input, feed.producer);
  if (map.stored)
    return fmt::format("member {} is stored beside a ring", feed.producer);
  for (const int extra : feed.copied)
    if (std::string wrong; !copies_alike(group, gemm, feed, extra, wrong))
      return wrong.empty()
                 ? fmt::format("member {} reads tiles that do not lie, by types, runs and "
                               "boxes, as those that it gives",
                               feed.producer)
                 : fmt::format("member {}: {}", feed.producer, wrong);
  return {};
}

// What is left beside those that map: for all of a tile's accumulators, and at launch for those of
// one instruction.
Reason wrong_registers(const Gemm &gemm) {
  const Schedule &schedule = gemm.schedule;
  const CoreTile &tile = gemm.tile;
  const std::int64_t launch = launch_registers(schedule);
  const int math = schedule.roles.math.registers;
  const std::int64_t consumer = math > 0 ? math : launch;
  const bool is_streamed = halo_stages(schedule) > 0 && !has_resident(schedule);
  const std::int64_t needed = tile.warp_rows * tile.warp_columns / kGroupItems + kSpareRegisters +
                              (is_streamed ? kTwoRings : 0) + fragment_registers(gemm);
  const std::int64_t of_one =
      schedule.core.op->d.values() +
      (halo_stages(schedule) > 0 ? kWindowRegisters : kInstructionRegisters);
  return outside({{"math.registers", consumer, std::max(needed, launch), kNoEnd},
                  {"launch.registers", launch, of_one, kNoEnd}});
}

// A window's rows are numbered by its pixels.
Reason wrong_mapped_window(const Gemm &gemm) {
  return window_box(gemm).points() == window_rows(gemm) ? wrong_registers(gemm)
                                                        : "taps move a window where no pixel does";
}

// Warps that map: of their own, but where those that load find windows beside a resident filter.
Range mappers(const Gemm &gemm, bool has_feeds) {
  const bool load_maps = has_resident(gemm.schedule) && halo_stages(gemm.schedule) >= kLeastCopied;
  const bool turns = turns_in_ring(gemm);
  return {"transform.groups", gemm.schedule.roles.transform.groups,
          turns || (has_feeds && !load_maps), turns || has_feeds ? kMostMappers : 0};
}

// They share whole rows of a tile, and leave the others registers.
Reason wrong_mappers(const Gemm &gemm, const std::vector<CoreFeed> &feeds) {
  if (!gemm.is_wgmma())
    return {};
  if (Reason reason = outside(mappers(gemm, !feeds.empty())))
    return reason;
  if (feeds.empty())
    return a_in_registers(gemm) || turns_in_ring(gemm) ? wrong_registers(gemm) : Reason{};
  if (halo_stages(gemm.schedule) > 0)
    return wrong_mapped_window(gemm);
  const bool is_turned = gemm.roles.data_turned;
  const std::int64_t row_bytes =
      is_turned ? gemm.panel * gemm.tile.elem_bytes : gemm.tile.row_bytes();
  if (Reason reason = wrong_sharing(kGroupItems, is_turned ? gemm.tile.depth : gemm.tile.rows,
                                    row_bytes / kChunkBytes))
    return reason;
  return wrong_registers(gemm);
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
  if (const std::optional<MemberId> spread = spread_of(group)) {
    const Producer &copy = producer_at(group, *spread);
    if (!can_spread(group, gemm, copy))
      return no_transform(copy.input, *spread);
    if (Reason reason = wrong_spread(group, gemm, *spread))
      return reason;
  }
  const std::vector<CoreFeed> feeds = core_feeds(group, gemm);
  for (const CoreFeed &feed : feeds)
    if (Reason reason = wrong_feed(group, gemm, feed))
      return reason;
  return wrong_mappers(gemm, feeds);
}

} // namespace tilefuse::schedule
