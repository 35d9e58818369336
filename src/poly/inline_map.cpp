// SPDX-License-Identifier: Apache-2.0
#include "poly/inline_map.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "nest/flatten/merge.h"
#include "nest/index.h"
#include "poly/post_ops.h"
#include "program/rewrite/split_maps.h"

namespace tilefuse::poly {
namespace {

using nest::Linear;
using nest::Nest;
using nest::Operand;
using program::Expr;

// Every point stores the one element that it reads.
bool only_moves(const Nest &nest) {
  return nest.agg == program::Agg::Assign && nest.comb == program::Comb::None &&
         nest.inputs.size() == 1 && nest.constraints.empty() &&
         nest.output_indices == static_cast<int>(nest.indices.size()) &&
         std::none_of(nest.inputs[0].dims.begin(), nest.inputs[0].dims.end(),
                      [](const nest::Dim &dim) { return dim.guarded; });
}

// `expr` with `acc` replaced.
Expr with_acc(const Expr &expr, const Expr &acc) {
  if (expr.kind == Expr::Kind::Acc)
    return program::cast(acc, expr.type);
  Expr copy = expr;
  for (Expr &arg : copy.args)
    arg = with_acc(arg, acc);
  return copy;
}

// `expr` with its operands counted from `first`.
Expr renumbered(const Expr &expr, int first) {
  Expr copy = expr;
  if (expr.kind == Expr::Kind::Operand)
    copy.operand += first;
  for (Expr &arg : copy.args)
    arg = renumbered(arg, first);
  return copy;
}

int count_acc(const Expr &expr) {
  int count = expr.kind == Expr::Kind::Acc ? 1 : 0;
  for (const Expr &arg : expr.args)
    count += count_acc(arg);
  return count;
}

// Whether the copy's post-op stays small with the map's in place of its accumulator.
bool stays_small(const Nest &copy, const Nest &map) {
  return copy.post.args.empty() ||
         program::count_nodes(copy.post) + count_acc(copy.post) * program::count_nodes(map.post) <=
             kMaxPostNodes;
}

// What the map reads, in the indices of the copy: `subscripts` by index of the map.
Operand carried(Operand operand, const Producer &map, const std::vector<Linear> &subscripts) {
  operand.slot = map.slots[operand.slot];
  for (nest::Dim &dim : operand.dims) {
    Linear form{dim.at.constant, std::vector<std::int64_t>(subscripts[0].coeff.size(), 0)};
    for (std::size_t i = 0; i < dim.at.coeff.size(); ++i) {
      form.constant += dim.at.coeff[i] * subscripts[i].constant;
      for (std::size_t j = 0; j < form.coeff.size(); ++j)
        form.coeff[j] += dim.at.coeff[i] * subscripts[i].coeff[j];
    }
    dim.at = std::move(form);
  }
  return operand;
}

// Slots that nothing reads or writes any more disappear.
void drop_unused_slots(PlacedGroup &placed) {
  Nest &nest = placed.group.anchor;
  Indexed<SlotId, std::optional<SlotId>> renamed(nest.slots.size());
  Indexed<SlotId, nest::Slot> slots;
  Indexed<SlotId, program::BufferId> buffers;
  const auto keep = [&](Operand &operand) {
    std::optional<SlotId> &slot = renamed[operand.slot];
    if (!slot) {
      slot = slots.next_id();
      slots.push_back(nest.slots[operand.slot]);
      buffers.push_back(placed.buffers[operand.slot]);
    }
    operand.slot = *slot;
  };
  std::for_each(nest.extras.begin(), nest.extras.end(), keep);
  keep(nest.out);
  nest.slots = std::move(slots);
  placed.buffers = std::move(buffers);
}

} // namespace

std::optional<PlacedGroup> inline_map(const PlacedGroup &fused) {
  const Nest &copy = fused.group.anchor;
  if (fused.group.producers.size() != 1 || fused.group.producers[0].feed != Feed::Map ||
      !only_moves(copy))
    return std::nullopt;
  const Producer &map = fused.group.producers[0];
  if (map.nest.indices.empty() || !stays_small(copy, map.nest) ||
      output_points(copy) > output_points(map.nest))
    return std::nullopt;
  const auto index_of = match_dims(copy.inputs[0], map.nest).value();
  std::vector<Linear> subscripts(map.nest.indices.size(), still(copy));
  for (std::size_t d = 0; d < index_of.size(); ++d)
    if (index_of[d])
      subscripts[at(*index_of[d])] = copy.inputs[0].dims[d].at;
  PlacedGroup made = fused;
  made.group.producers.clear();
  Nest &nest = made.group.anchor;
  nest.slots = group_slots(fused.group);
  nest.inputs.clear();
  const int first = static_cast<int>(nest.extras.size());
  for (const Operand &extra : map.nest.extras)
    nest.extras.push_back(carried(extra, map, subscripts));
  const DType stored = type_of(map.nest, map.nest.out);
  const Expr value = program::cast(renumbered(map.nest.post, first), stored);
  nest.post = with_acc(copy.post, program::cast(value, copy.acc_type));
  drop_unused_slots(made);
  nest = nest::merge_indices(nest);
  nest.name = "map";
  nest::verify(nest);
  return made;
}

} // namespace tilefuse::poly
