// SPDX-License-Identifier: Apache-2.0
#include "poly/needs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/index.h"
#include "poly/progression.h"

namespace tilefuse::poly {
namespace {

// The dimension of its consumer's input that each output index of a producer runs over; -1: none.
std::vector<int> dims_of(const Group &group, MemberId member) {
  const Producer &producer = producer_at(group, member);
  const nest::Operand &input = member_nest(group, producer.consumer).inputs[at(producer.input)];
  std::vector<int> dims(at(producer.nest.output_indices), -1);
  if (producer.feed == Feed::Spread) { // of dimensions that are read as one, all
    const std::vector<int> held = match_runs(input, producer.nest).value();
    for (std::size_t d = 0; d < held.size(); ++d)
      for (std::size_t i = 0; held[d] >= 0 && i < dims.size(); ++i)
        if (producer.nest.out.dims[d].at.coeff[i] != 0 &&
            producer.nest.out.dims[d].size == input.dims[at(held[d])].size)
          dims[i] = held[d];
    return dims;
  }
  const std::optional<std::vector<int>> index_of = match_dims(input, producer.nest);
  for (std::size_t d = 0; index_of && d < index_of->size(); ++d)
    if ((*index_of)[d] >= 0)
      dims[at((*index_of)[d])] = static_cast<int>(d);
  return dims;
}

class Walk {
public:
  Walk(const Group &group, std::span<const std::int64_t> tile) : group_(group), tile_(tile) {
    for (const MemberId m : members(group)) {
      dims_.push_back(m == kAnchor ? std::vector<int>() : dims_of(group, m));
      depends_.push_back(dependences_of(m));
    }
  }

  MemberNeeds needs(MemberId member) const {
    const nest::Nest &anchor = group_.anchor;
    MemberNeeds result;
    std::set<int> used;
    bool is_product = true;
    result.executed = result.distinct = 1;
    for (int i = 0; i < member_nest(group_, member).output_indices; ++i) {
      const std::set<int> &follows = depends_[member][at(i)];
      const std::size_t before = used.size();
      used.insert(follows.begin(), follows.end());
      is_product = is_product && follows.size() <= 1 && used.size() == before + follows.size();
      add_index(member, i, follows.empty() ? -1 : *follows.begin(), result);
    }
    double tiles = 1;
    for (int i = 0; i < anchor.output_indices; ++i) {
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
  Progression points(MemberId member, int i, std::span<const std::int64_t> coordinates) const {
    const std::int64_t extent = member_nest(group_, member).indices[at(i)].extent;
    if (member == kAnchor)
      return tile_of(extent, tile_[at(i)], coordinates[at(i)]);
    const int d = dims_[member][at(i)];
    if (d < 0)
      return whole(extent);
    const Producer &producer = producer_at(group_, member);
    const nest::Nest &reader = member_nest(group_, producer.consumer);
    const nest::Linear &subscript = reader.inputs[at(producer.input)].dims[at(d)].at;
    std::vector<Progression> variables;
    for (int j = 0; j < static_cast<int>(reader.indices.size()); ++j)
      variables.push_back(j < reader.output_indices && subscript.coeff[at(j)] != 0
                              ? points(producer.consumer, j, coordinates)
                              : whole(reader.indices[at(j)].extent));
    return clipped(image(subscript, 1, variables), extent);
  }

  std::int64_t tile_count(int index) const {
    return (group_.anchor.indices[at(index)].extent + tile_[at(index)] - 1) / tile_[at(index)];
  }

  // The output indices of the anchor that each output index of a member follows.
  std::vector<std::set<int>> dependences_of(MemberId member) const {
    const nest::Nest &nest = member_nest(group_, member);
    std::vector<std::set<int>> all(at(nest.output_indices));
    for (int i = 0; i < nest.output_indices; ++i) {
      if (member == kAnchor) {
        all[at(i)].insert(i);
        continue;
      }
      const Producer &producer = producer_at(group_, member);
      const nest::Nest &reader = member_nest(group_, producer.consumer);
      const int d = dims_[member][at(i)];
      for (int j = 0; d >= 0 && j < reader.output_indices; ++j)
        if (reader.inputs[at(producer.input)].dims[at(d)].at.coeff[at(j)] != 0) {
          const std::set<int> &follows = depends_[producer.consumer][at(j)];
          all[at(i)].insert(follows.begin(), follows.end());
        }
    }
    return all;
  }

  // Multiplies what index i of a member runs over the tiles of the anchor's index `follows`.
  void add_index(MemberId member, int i, int follows, MemberNeeds &result) const {
    std::vector<std::int64_t> coordinates(at(group_.anchor.output_indices), 0);
    const std::int64_t tiles = follows < 0 ? 1 : tile_count(follows);
    Progression all{0, -1, 1, false};
    std::int64_t largest = 0;
    double executed = 0;
    for (std::int64_t t = 0; t < tiles; ++t) {
      if (follows >= 0)
        coordinates[at(follows)] = t;
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
  std::span<const std::int64_t> tile_;
  Indexed<MemberId, std::vector<int>> dims_;              // by output index
  Indexed<MemberId, std::vector<std::set<int>>> depends_; // by output index
};

} // namespace

Indexed<MemberId, MemberNeeds> needs(const Group &group, std::span<const std::int64_t> tile) {
  const Walk walk(group, tile);
  Indexed<MemberId, MemberNeeds> all;
  for (const MemberId m : members(group))
    all.push_back(walk.needs(m));
  return all;
}

} // namespace tilefuse::poly
