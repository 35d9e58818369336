// SPDX-License-Identifier: Apache-2.0
#include "poly/row_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::poly {
namespace {

using nest::Nest;
using nest::Operand;

// Elements of a tensor that lie evenly apart, and how far apart their places are.
struct Piece {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
  std::int64_t place = 0;
};
using Pieces = std::vector<Piece>;

// Neighbouring pieces that lie as one are one.
Pieces merged(Pieces pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece &a, const Piece &b) { return a.stride > b.stride; });
  Pieces whole;
  for (const Piece &piece : pieces) {
    const bool joins = !whole.empty() && whole.back().stride == piece.stride * piece.extent &&
                       whole.back().place == piece.place * piece.extent;
    if (joins)
      whole.back() = {whole.back().extent * piece.extent, piece.stride, piece.place};
    else
      whole.push_back(piece);
  }
  return whole;
}

// The place of neighbours that lie `stride` apart, where there are so many.
std::optional<std::int64_t> place_in(const Pieces &pieces, std::int64_t stride,
                                     std::int64_t extent) {
  for (const Piece &piece : pieces)
    if (stride >= piece.stride && stride % piece.stride == 0 &&
        stride / piece.stride * extent <= piece.extent)
      return piece.place * (stride / piece.stride);
  return std::nullopt;
}

bool is_plain(const Operand &operand) {
  return !operand.constant &&
         std::none_of(operand.dims.begin(), operand.dims.end(),
                      [](const nest::Dim &dim) { return dim.guarded || dim.by; });
}

bool is_product(const Nest &nest) {
  return nest.agg == program::Agg::Sum && nest.comb == program::Comb::Mul &&
         nest.inputs.size() == 2 && nest.constraints.empty();
}

class Placing {
public:
  explicit Placing(const Group &group) : group_(group), pieces_(group_slots(group).size()) {
    for (const MemberId m : members(group))
      places_.push_back(Indexed<IndexId, std::int64_t>(member_nest(group, m).indices.size(), 0));
  }

  std::optional<RowPlaces> run() {
    const MemberId first = first_product(group_);
    place_rows(first);
    for (const MemberId m : members(group_).reversed())
      if (m != first && !place(m))
        return std::nullopt;
    return std::move(places_);
  }

private:
  // Those of the first product, whose key is nearest in its result.
  void place_rows(MemberId first) {
    const Nest &nest = member_nest(group_, first);
    const nest::Linear out = nest::flat(nest.out, nest.indices.size());
    std::vector<IndexId> order;
    for (const IndexId i : output_indices(nest))
      order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](IndexId a, IndexId b) { return out.coeff[a] < out.coeff[b]; });
    points_ = 1;
    for (const IndexId i : order) {
      if (extent(nest, i) > 1)
        places_[first][i] = points_;
      points_ *= extent(nest, i);
    }
    keep(first);
  }

  // How a member's result lies.
  void keep(MemberId member) {
    const Nest &nest = member_nest(group_, member);
    const nest::Linear out = nest::flat(nest.out, nest.indices.size());
    Pieces pieces;
    for (const IndexId i : output_indices(nest))
      if (extent(nest, i) > 1)
        pieces.push_back({extent(nest, i), out.coeff[i], places_[member][i]});
    pieces_[group_slot(group_, member, nest.out.slot)] = merged(std::move(pieces));
  }

  bool place(MemberId member) {
    const Nest &nest = member_nest(group_, member);
    for (int k = 0; k < operands(nest); ++k)
      if (!read(member, operand_of(nest, k)))
        return false;
    if (!is_whole(member))
      return false;
    keep(member);
    return true;
  }

  bool read(MemberId member, const Operand &operand) {
    const SlotId slot = group_slot(group_, member, operand.slot);
    const std::optional<MemberId> writer = writer_of(group_, slot);
    if (!writer)
      return true;
    const Nest &nest = member_nest(group_, member);
    const Nest &from = member_nest(group_, *writer);
    const nest::Linear at = nest::flat(operand, nest.indices.size());
    if (!is_plain(operand) || at.constant != nest::flat(from.out, from.indices.size()).constant)
      return false;
    for (const IndexId i : nest.indices.ids()) {
      if (at.coeff[i] == 0 || extent(nest, i) == 1)
        continue;
      const auto found = place_in(pieces_[slot], at.coeff[i], extent(nest, i));
      std::int64_t &known = places_[member][i];
      if (!found || (known != 0 && known != *found))
        return false;
      known = *found;
    }
    return true;
  }

  // All rows and keys, each once.
  bool is_whole(MemberId member) const {
    const Nest &nest = member_nest(group_, member);
    Pieces pieces;
    for (const IndexId i : nest.indices.ids())
      if (places_[member][i] != 0)
        pieces.push_back({extent(nest, i), places_[member][i], places_[member][i]});
      else if (member != kAnchor && extent(nest, i) > 1)
        return false;
    pieces = merged(std::move(pieces));
    return pieces.size() == 1 && pieces[0].place == 1 && pieces[0].extent == points_;
  }

  const Group &group_;
  RowPlaces places_;
  Indexed<SlotId, Pieces> pieces_; // of what members write
  std::int64_t points_ = 1;
};

// A member that other members read, and that reads some: a map or a reduction of rows.
std::optional<std::string> broken_row_member(const Group &group, MemberId member,
                                             const RowPlaces &places) {
  const Nest &nest = member_nest(group, member);
  for (int k = 0; k < operands(nest); ++k) {
    const Operand &operand = operand_of(nest, k);
    if (std::any_of(operand.dims.begin(), operand.dims.end(),
                    [](const nest::Dim &dim) { return dim.guarded || dim.by; }))
      return fmt::format("member {} reads where a tensor may end", member);
  }
  for (const IndexId i : nest.indices.ids())
    if (const std::int64_t place = places[member][i];
        place % row_keys(group) != 0 && (place != 1 || extent(nest, i) % row_keys(group) != 0))
      return fmt::format("index {} of member {} ends inside a row", nest.indices[i].name, member);
  const Ids<IndexId> reduced = reduced_indices(nest);
  const bool is_map = nest.inputs.empty() && reduced.empty();
  const bool sums_keys = reduced.size() == 1 && places[member][*reduced.begin()] == 1 &&
                         extent(nest, *reduced.begin()) == row_keys(group) &&
                         (nest.comb == program::Comb::None || nest.comb == program::Comb::Term);
  if (!nest.constraints.empty() || (!is_map && !sums_keys))
    return fmt::format("member {} is neither a map nor a reduction of rows", member);
  return std::nullopt;
}

// Each producer's result is read before it stands, by the member that it names first, and by none
// behind it.
std::optional<std::string> broken_readers(const Group &group, MemberId member) {
  const Producer &producer = producer_at(group, member);
  const SlotId slot = producer.slots[producer.nest.out.slot];
  std::optional<MemberId> first;
  for (const MemberId m : members(group)) {
    const Nest &nest = member_nest(group, m);
    for (int k = 0; k < operands(nest); ++k) {
      if (group_slot(group, m, operand_of(nest, k).slot) != slot)
        continue;
      if (m >= member)
        return fmt::format("member {} reads what member {} writes behind it", m, member);
      if (!first && (producer.consumer != m || producer.input != k))
        return fmt::format("input {} of member {} is the first that reads member {}", k, m, member);
      first = m;
    }
    if (m != member && group_slot(group, m, nest.out.slot) == slot)
      return fmt::format("members {} and {} write the same tensor", m, member);
  }
  if (!first)
    return fmt::format("nothing reads what member {} writes", member);
  return std::nullopt;
}

} // namespace

bool has_rows(const Group &group) {
  return !group.producers.empty() && group.producers.front().feed == Feed::Rows;
}

MemberId first_product(const Group &group) {
  return member_of_producer(group.producers.size() - 1);
}

std::optional<MemberId> writer_of(const Group &group, SlotId slot) {
  for (const MemberId m : producing_members(group))
    if (group_slot(group, m, member_nest(group, m).out.slot) == slot)
      return m;
  return std::nullopt;
}

const Operand &operand_of(const Nest &nest, int number) {
  return at(number) < nest.inputs.size() ? nest.inputs[at(number)]
                                         : nest.extras[at(number) - nest.inputs.size()];
}

int operands(const Nest &nest) { return static_cast<int>(nest.inputs.size() + nest.extras.size()); }

bool is_statistic(const Group &group, MemberId member) {
  return has_rows(group) && member != kAnchor && member != first_product(group) &&
         !reduced_indices(member_nest(group, member)).empty();
}

bool has_schedule(const Group &group, MemberId member) {
  return member == kAnchor || producer_at(group, member).feed == Feed::Produce ||
         (has_rows(group) && member == first_product(group));
}

int row_input(const Group &group) { return group.producers.front().input; }

std::int64_t row_keys(const Group &group) {
  const Nest &nest = member_nest(group, first_product(group));
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  for (const IndexId i : output_indices(nest))
    if (out.coeff[i] == 1)
      return extent(nest, i);
  return 1;
}

std::optional<RowPlaces> row_places(const Group &group) { return Placing(group).run(); }

std::optional<std::string> broken_rows(const Group &group) {
  for (const MemberId m : producing_members(group))
    if (producer_at(group, m).feed != Feed::Rows || producer_at(group, m).stored)
      return fmt::format("member {} is stored, or no rows beside rows", m);
  const MemberId first = first_product(group);
  if (!is_product(group.anchor) || !is_product(member_nest(group, first)) || row_keys(group) == 1)
    return "rows stand between two products, of which the first has several keys";
  for (const MemberId m : producing_members(group))
    if (auto reason = broken_readers(group, m))
      return reason;
  for (int k = 0; k < operands(group.anchor); ++k)
    if ((k == row_input(group)) != writer_of(group, operand_of(group.anchor, k).slot).has_value())
      return "the anchor reads rows as one of its factors alone";
  const Nest &product = member_nest(group, first);
  for (int k = 0; k < operands(product); ++k)
    if (writer_of(group, group_slot(group, first, operand_of(product, k).slot)))
      return "the first product reads what the group makes";
  const std::optional<RowPlaces> places = row_places(group);
  if (!places)
    return "a member does not walk rows and keys whole and as they lie";
  for (const MemberId m : producing_members(group))
    if (m != first)
      if (auto reason = broken_row_member(group, m, *places))
        return reason;
  for (const IndexId i : reduced_indices(group.anchor))
    if ((*places)[kAnchor][i] != 1)
      return "the anchor sums over more than keys";
  return std::nullopt;
}

} // namespace tilefuse::poly
