// SPDX-License-Identifier: Apache-2.0
#include "poly/needs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/index.h"
#include "nest/index.h"
#include "poly/progression.h"

namespace tilefuse::poly {
namespace {

// The dimension of its consumer's input that each output index of a producer runs over; -1: none.
Indexed<IndexId, int> dims_of(const Group &group, MemberId member) {
  const Producer &producer = producer_at(group, member);
  const nest::Operand &input = member_nest(group, producer.consumer).inputs[at(producer.input)];
  Indexed<IndexId, int> dims(at(producer.nest.output_indices), -1);
  if (producer.feed == Feed::Spread) { // of dimensions that are read as one, all
    const std::vector<int> held = match_runs(input, producer.nest).value();
    for (std::size_t d = 0; d < held.size(); ++d)
      for (const IndexId i : dims.ids())
        if (held[d] >= 0 && producer.nest.out.dims[d].at.coeff[i] != 0 &&
            producer.nest.out.dims[d].size == input.dims[at(held[d])].size)
          dims[i] = held[d];
    return dims;
  }
  const auto index_of = match_dims(input, producer.nest);
  for (std::size_t d = 0; index_of && d < index_of->size(); ++d)
    if (const std::optional<IndexId> index = (*index_of)[d])
      dims[*index] = static_cast<int>(d);
  return dims;
}

class Walk {
public:
  Walk(const Group &group, const Indexed<IndexId, std::int64_t> &tile)
      : group_(group), tile_(tile) {
    for (const MemberId m : members(group)) {
      dims_.push_back(m == kAnchor ? Indexed<IndexId, int>() : dims_of(group, m));
      depends_.push_back(dependences_of(m));
    }
  }

  MemberNeeds needs(MemberId member) const {
    const nest::Nest &anchor = group_.anchor;
    MemberNeeds result;
    std::set<IndexId> used;
    bool is_product = true;
    result.executed = result.distinct = 1;
    for (const IndexId i : output_indices(member_nest(group_, member))) {
      const std::set<IndexId> &follows = depends_[member][i];
      const std::size_t before = used.size();
      used.insert(follows.begin(), follows.end());
      is_product = is_product && follows.size() <= 1 && used.size() == before + follows.size();
      add_index(member, i, follows.empty() ? std::nullopt : std::optional(*follows.begin()),
                result);
    }
    double tiles = 1;
    for (const IndexId i : output_indices(anchor)) {
      const double count = static_cast<double>(tile_count(i));
      tiles *= count;
      result.executed *= used.count(i) == 0 ? count : 1;
    }
    if (!is_product)
      result.executed = std::accumulate(
          result.box.begin(), result.box.end(), tiles,
          [](double all, std::int64_t points) { return all * static_cast<double>(points); });
    return result;
  }

private:
  // What output index i of a member runs over in one tile.
  Progression points(MemberId member, IndexId i,
                     const Indexed<IndexId, std::int64_t> &coordinates) const {
    const std::int64_t extent = nest::extent(member_nest(group_, member), i);
    if (member == kAnchor)
      return tile_of(extent, tile_[i], coordinates[i]);
    const int d = dims_[member][i];
    if (d < 0)
      return whole(extent);
    const Producer &producer = producer_at(group_, member);
    const nest::Nest &reader = member_nest(group_, producer.consumer);
    const nest::Linear &subscript = reader.inputs[at(producer.input)].dims[at(d)].at;
    std::vector<Progression> variables;
    for (const IndexId j : reader.indices.ids())
      variables.push_back(is_output(reader, j) && subscript.coeff[j] != 0
                              ? points(producer.consumer, j, coordinates)
                              : whole(reader.indices[j].extent));
    return clipped(image(subscript, 1, variables), extent);
  }

  std::int64_t tile_count(IndexId index) const {
    return (extent(group_.anchor, index) + tile_[index] - 1) / tile_[index];
  }

  // The output indices of the anchor that each output index of a member follows.
  Indexed<IndexId, std::set<IndexId>> dependences_of(MemberId member) const {
    const nest::Nest &nest = member_nest(group_, member);
    Indexed<IndexId, std::set<IndexId>> all(at(nest.output_indices));
    for (const IndexId i : output_indices(nest)) {
      if (member == kAnchor) {
        all[i].insert(i);
        continue;
      }
      const Producer &producer = producer_at(group_, member);
      const nest::Nest &reader = member_nest(group_, producer.consumer);
      const int d = dims_[member][i];
      for (const IndexId j : output_indices(reader))
        if (d >= 0 && reader.inputs[at(producer.input)].dims[at(d)].at.coeff[j] != 0) {
          const std::set<IndexId> &follows = depends_[producer.consumer][j];
          all[i].insert(follows.begin(), follows.end());
        }
    }
    return all;
  }

  // Multiplies what index i of a member runs over the tiles of the anchor's index `follows`.
  void add_index(MemberId member, IndexId i, std::optional<IndexId> follows,
                 MemberNeeds &result) const {
    Indexed<IndexId, std::int64_t> coordinates(at(group_.anchor.output_indices), 0);
    const std::int64_t tiles = follows ? tile_count(*follows) : 1;
    Progression all{0, -1, 1, false};
    std::int64_t largest = 0;
    double executed = 0;
    for (std::int64_t t = 0; t < tiles; ++t) {
      if (follows)
        coordinates[*follows] = t;
      const Progression of_tile = points(member, i, coordinates);
      all = hull(all, of_tile);
      largest = std::max(largest, of_tile.span());
      executed += static_cast<double>(of_tile.count());
    }
    result.box.push_back(largest);
    result.executed *= executed;
    result.distinct *= static_cast<double>(all.count());
  }

  const Group &group_;
  const Indexed<IndexId, std::int64_t> &tile_;
  Indexed<MemberId, Indexed<IndexId, int>> dims_;                  // of output indices
  Indexed<MemberId, Indexed<IndexId, std::set<IndexId>>> depends_; // of output indices
};

} // namespace

Indexed<MemberId, MemberNeeds> needs(const Group &group,
                                     const Indexed<IndexId, std::int64_t> &tile) {
  const Walk walk(group, tile);
  Indexed<MemberId, MemberNeeds> all;
  for (const MemberId m : members(group))
    all.push_back(walk.needs(m));
  return all;
}

} // namespace tilefuse::poly
