// SPDX-License-Identifier: Apache-2.0
#include "poly/join_rows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/index.h"
#include "nest/flatten/split_index.h"
#include "nest/index.h"
#include "poly/coarse_sums.h"
#include "poly/group_buffers.h"
#include "poly/joinable.h"
#include "poly/row_group.h"
#include "program/origin.h"

namespace tilefuse::poly {
namespace {

using program::BufferId;

bool multiplies(const nest::Nest &nest) {
  return nest.agg == program::Agg::Sum && nest.comb == program::Comb::Mul;
}

// Splits an index of `nest` where its points stand for those of two of `other`; false where none
// does.
bool split_like(nest::Nest &nest, const Indexed<IndexId, std::int64_t> &places,
                const nest::Nest &other, const Indexed<IndexId, std::int64_t> &of_other) {
  for (const IndexId i : output_indices(nest))
    for (const IndexId j : output_indices(other)) {
      if (places[i] == 0 || of_other[j] <= places[i] || of_other[j] % places[i] != 0)
        continue;
      const std::int64_t inner = of_other[j] / places[i];
      if (inner >= extent(nest, i) || extent(nest, i) % inner != 0)
        continue;
      nest = split_index(nest, i, inner);
      return true;
    }
  return false;
}

// Lets both products walk rows by the same indices.
void align(Group &group) {
  while (const std::optional<RowPlaces> places = row_places(group)) {
    nest::Nest &first = group.producers.back().nest;
    const auto &of_first = (*places)[first_product(group)];
    const auto &of_anchor = (*places)[kAnchor];
    if (!split_like(first, of_first, group.anchor, of_anchor) &&
        !split_like(group.anchor, of_anchor, first, of_first))
      return;
  }
}

class Joining {
public:
  Joining(Joinable &groups, const TakesRows &takes) : groups_(groups), takes_(takes) {}

  void run() {
    for (std::size_t c = 0; c < groups_.size(); ++c)
      if (groups_.is_there(c) && is_product(c))
        for (const nest::Operand &input : Operands(groups_[c].group.anchor.inputs))
          if (groups_[c].group.producers.empty())
            offer(c, groups_[c].buffers[input.slot]);
  }

private:
  using Operands = std::vector<nest::Operand>;
  using Found = Joinable::Found;

  bool is_product(std::size_t g) const {
    return groups_[g].group.producers.empty() && multiplies(groups_[g].group.anchor);
  }

  // What makes a buffer out of a product's result, with that product; nothing where no product or
  // several do.
  std::optional<Found> makers(std::size_t c, BufferId buffer) const {
    Found found;
    std::vector<std::size_t> products;
    std::vector<BufferId> open = {buffer};
    while (!open.empty()) {
      const std::optional<std::size_t> g = groups_.writer(open.back());
      open.pop_back();
      if (!g || *g >= c || !found.insert(*g).second)
        continue;
      if (is_product(*g)) {
        products.push_back(*g);
        continue;
      }
      const std::set<BufferId> read = read_buffers(groups_[*g]);
      open.insert(open.end(), read.begin(), read.end());
    }
    if (products.size() != 1)
      return std::nullopt;
    const Found made = readers_in(found, products.front());
    const std::optional<std::size_t> last = groups_.writer(buffer);
    return made.size() > 1 && made.count(*last) > 0 ? std::optional(made) : std::nullopt;
  }

  // A group, and those of `among` that read its result or what is made of it.
  Found readers_in(const Found &among, std::size_t first) const {
    Found made = {first};
    for (const std::size_t g : among) {
      const std::set<BufferId> read = read_buffers(groups_[g]);
      if (std::any_of(made.begin(), made.end(), [&](std::size_t m) {
            return g > m && read.count(written_buffer(groups_[m])) > 0;
          }))
        made.insert(g);
    }
    return made;
  }

  // The group with those that make its rows, the last first.
  PlacedGroup together(std::size_t c, const Found &made) const {
    PlacedGroup all = groups_[c];
    for (auto m = made.rbegin(); m != made.rend(); ++m) {
      const PlacedGroup &maker = groups_[*m];
      Producer added{.nest = maker.group.anchor, .feed = Feed::Rows};
      for (const BufferId buffer : maker.buffers) {
        const auto slot = std::find(all.buffers.begin(), all.buffers.end(), buffer);
        added.slots.push_back(static_cast<SlotId>(slot - all.buffers.begin()));
        if (slot == all.buffers.end())
          all.buffers.push_back(buffer);
      }
      all.group.producers.push_back(std::move(added));
      name_reader(all.group, member_of_producer(all.group.producers.size() - 1));
    }
    for (const std::size_t m : Found(made.rbegin(), made.rend()))
      all.origin = program::join_origins(groups_[m].origin, all.origin);
    return all;
  }

  // The first member that reads what a producer writes.
  static void name_reader(Group &group, MemberId producer) {
    Producer &p = group.producers[at(producer) - 1];
    const SlotId slot = p.slots[p.nest.out.slot];
    for (const MemberId m : members(group)) {
      const nest::Nest &nest = member_nest(group, m);
      for (int k = 0; k < operands(nest); ++k)
        if (m != producer && group_slot(group, m, operand_of(nest, k).slot) == slot) {
          p.consumer = m;
          p.input = k;
          return;
        }
    }
  }

  void offer(std::size_t c, BufferId buffer) {
    const std::optional<Found> made = makers(c, buffer);
    if (!made || !groups_.are_alone(*made, c) || groups_.are_overtaken(*made, c))
      return;
    PlacedGroup joined = together(c, *made);
    align(joined.group);
    allow_coarse_sums(joined.group);
    if (takes_(joined, groups_.apart(c, *made), broken_rule(joined.group).value_or("")))
      groups_.join(c, *made, std::move(joined));
  }

  Joinable &groups_;
  const TakesRows &takes_;
};

} // namespace

std::vector<PlacedGroup> join_rows(std::vector<PlacedGroup> groups,
                                   const program::StoredProgram &stored, const TakesRows &takes) {
  Joinable all(std::move(groups), stored);
  Joining(all, takes).run();
  return std::move(all).left();
}

} // namespace tilefuse::poly
