// SPDX-License-Identifier: Apache-2.0
#include "cost/profit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/index.h"
#include "nest/index.h"
#include "poly/needs.h"

namespace tilefuse::cost {
namespace {

// What the second-level cache delivers over what memory does.
constexpr double kCacheOverMemory = 4;
// Points of a reduced index whose tile is staged at a time.
constexpr std::int64_t kSlab = 32;
constexpr std::array<std::int64_t, 10> kTiles = {2, 4, 7, 8, 14, 16, 28, 32, 56, 112};

double bytes_of(const nest::Nest &nest, const nest::Operand &operand) {
  const nest::Slot &slot = slot_of(nest, operand);
  return static_cast<double>(size_bytes(slot.type));
}

double elements(const nest::Operand &operand) {
  double all = 1;
  for (const nest::Dim &dim : operand.dims)
    all *= static_cast<double>(dim.size);
  return all;
}

double bytes_in(const nest::Nest &nest) {
  double bytes = 0;
  for (const nest::Operand &input : nest.inputs)
    bytes += elements(input) * bytes_of(nest, input);
  for (const nest::Operand &extra : nest.extras)
    bytes += elements(extra) * bytes_of(nest, extra);
  return bytes;
}

struct Rates {
  double peak;   // operations per second
  double memory; // bytes per second
  double cache;
};

Rates rates_of(const Target &target) {
  const double memory = target.gbytes_per_s * 1e9;
  return {target.gflops_per_unit * 1e9 * target.compute_units, memory, memory * kCacheOverMemory};
}

// Bytes of a member's box: of a dimension that its consumer sums over, a slab.
std::int64_t box_bytes(const poly::Group &group, poly::MemberId member,
                       const poly::MemberNeeds &needs) {
  const poly::Producer &producer = producer_at(group, member);
  const nest::Nest &reader = member_nest(group, producer.consumer);
  const nest::Operand &input = reader.inputs[at(producer.input)];
  std::int64_t bytes = static_cast<std::int64_t>(bytes_of(producer.nest, producer.nest.out));
  const auto index_of = poly::match_dims(input, producer.nest);
  for (std::size_t d = 0; index_of && d < index_of->size(); ++d) {
    const std::optional<poly::IndexId> index = (*index_of)[d];
    if (!index)
      continue;
    const Indexed<nest::IndexId, std::int64_t> &coeff = input.dims[d].at.coeff;
    const bool is_summed = std::all_of(coeff.begin(), coeff.begin() + reader.output_indices,
                                       [](std::int64_t c) { return c == 0; });
    const std::int64_t points = needs.box[*index];
    bytes *= is_summed ? std::min(points, kSlab) : points;
  }
  return bytes;
}

using nest::IndexId;
using Tile = Indexed<IndexId, std::int64_t>; // points, of the anchor's output indices

class Weighing {
public:
  Weighing(const poly::Group &fused, const poly::Group &producer, const Target &target)
      : fused_(fused), target_(target), rates_(rates_of(target)) {
    const nest::Operand &out = producer.anchor.out;
    const double bytes = elements(out) * bytes_of(producer.anchor, out);
    const bool is_cached = bytes <= static_cast<double>(target.l2_bytes * target.compute_units);
    best_.saved_seconds =
        2 * bytes / (is_cached ? rates_.cache : rates_.memory) + target.launch_us * 1e-6;
  }

  Profit run() {
    Tile tile;
    for (const IndexId i : output_indices(fused_.anchor)) {
      tile.push_back(extent(i));
      sizes_.push_back(sizes(i));
    }
    try_tiles(tile, IndexId{0});
    return best_;
  }

private:
  // Sizes of an index: whole where nothing staged follows it, one point where tiles do not overlap.
  std::vector<std::int64_t> sizes(IndexId index) const {
    const std::int64_t extent = this->extent(index);
    Tile small(at(fused_.anchor.output_indices));
    for (const IndexId i : small.ids())
      small[i] = this->extent(i);
    const double whole = executed(small);
    small[index] = 1;
    const double apart = executed(small);
    const bool is_followed = apart != whole * static_cast<double>(extent);
    if (!is_followed)
      return {extent};
    if (apart <= whole)
      return {1};
    std::vector<std::int64_t> all = {extent};
    for (const std::int64_t size : kTiles)
      if (size < extent)
        all.push_back(size);
    return all;
  }

  std::int64_t extent(IndexId index) const { return nest::extent(fused_.anchor, index); }
  double count(const Tile &tile, IndexId index) const {
    return static_cast<double>((extent(index) + tile[index] - 1) / tile[index]);
  }

  double executed(const Tile &tile) const {
    double sum = 0;
    for (const poly::MemberNeeds &member : needs(fused_, tile))
      sum += member.executed;
    return sum - static_cast<double>(nest::output_points(fused_.anchor));
  }

  void try_tiles(Tile &tile, IndexId index) {
    if (!is_output(fused_.anchor, index)) {
      const Indexed<poly::MemberId, poly::MemberNeeds> all = needs(fused_, tile);
      if (!fits(all))
        return;
      weigh(tile, all, std::nullopt);
      for (const IndexId i : output_indices(fused_.anchor))
        if (target_.lanes == LaneKind::Vector && tile[i] < extent(i) && sizes_[i].size() > 1)
          weigh(tile, all, i);
      return;
    }
    const std::int64_t before = tile[index];
    for (const std::int64_t size : sizes_[index]) {
      tile[index] = size;
      try_tiles(tile, IndexId{to_int(index) + 1});
    }
    tile[index] = before;
  }

  // What a block takes of tiles that roll along an index: as much as leaves every unit a block.
  Tile run_of(Tile tile, IndexId rolls) const {
    double others = 1;
    for (const IndexId i : output_indices(fused_.anchor))
      others *= i == rolls ? 1 : count(tile, i);
    const double runs = std::ceil(std::max(1, target_.compute_units) / others);
    const double tiles = std::ceil(count(tile, rolls) / runs);
    tile[rolls] = std::min(extent(rolls), tile[rolls] * static_cast<std::int64_t>(tiles));
    return tile;
  }

  std::int64_t local_bytes(const Indexed<poly::MemberId, poly::MemberNeeds> &all) const {
    std::int64_t bytes = 0;
    for (const poly::MemberId m : producing_members(fused_))
      bytes += box_bytes(fused_, m, all[m]);
    return bytes;
  }

  bool fits(const Indexed<poly::MemberId, poly::MemberNeeds> &all) const {
    return target_.local_bytes == 0 || local_bytes(all) <= target_.local_bytes;
  }

  bool is_busy(const Tile &block) const {
    double blocks = 1;
    for (const IndexId i : output_indices(fused_.anchor))
      blocks *= count(block, i);
    return blocks >= target_.compute_units;
  }

  void weigh(const Tile &tile, const Indexed<poly::MemberId, poly::MemberNeeds> &all,
             std::optional<IndexId> rolls) {
    const Tile block = rolls ? run_of(tile, *rolls) : tile;
    if (!is_busy(block))
      return;
    const Indexed<poly::MemberId, poly::MemberNeeds> of_blocks = rolls ? needs(fused_, block) : all;
    double spent = 0;
    double done = 0;
    double needed = 0;
    for (const poly::MemberId m : producing_members(fused_)) {
      const poly::Producer &producer = producer_at(fused_, m);
      const double again =
          of_blocks[m].executed / static_cast<double>(output_points(producer.nest)) - 1;
      const double operations = std::max(nest::flops(producer.nest), 1.0);
      const double staged = all[m].executed * bytes_of(producer.nest, producer.nest.out);
      spent += std::max(again, 0.0) *
                   (operations / rates_.peak + bytes_in(producer.nest) / rates_.cache) +
               2 * staged / rates_.cache / kCacheOverMemory;
      done += operations * (again + 1);
      needed += operations;
    }
    if (!best_.tile.empty() && spent >= best_.spent_seconds)
      return;
    best_.tile = tile;
    best_.rolls = rolls;
    best_.spent_seconds = spent;
    best_.recomputed = done / needed;
    best_.local_bytes = local_bytes(all);
  }

  const poly::Group &fused_;
  const Target &target_;
  Rates rates_;
  Indexed<IndexId, std::vector<std::int64_t>> sizes_; // of tiles
  Profit best_;
};

} // namespace

Profit profit(const poly::Group &fused, const poly::Group &producer, const Target &target) {
  return Weighing(fused, producer, target).run();
}

poly::Verdict to_verdict(const Profit &profit, const poly::Group &fused) {
  poly::Verdict verdict;
  if (profit.tile.empty())
    return {false, {"no tile that keeps all units busy fits the memory of a block"}};
  std::string tile;
  for (const IndexId i : profit.tile.ids())
    tile += fmt::format(" {}:{}", fused.anchor.indices[i].name, profit.tile[i]);
  if (profit.rolls)
    tile += fmt::format(" rolling along {}", fused.anchor.indices[*profit.rolls].name);
  verdict.is_worth = profit.saved_seconds > profit.spent_seconds;
  verdict.terms = {
      fmt::format("tile{}, {} bytes staged", tile, profit.local_bytes),
      fmt::format("each element computed {:.3f} times", profit.recomputed),
      fmt::format("first estimate: saves {:.2f} us of memory and launches, costs {:.2f} us to "
                  "compute and stage inside",
                  profit.saved_seconds * 1e6, profit.spent_seconds * 1e6)};
  return verdict;
}

} // namespace tilefuse::cost
