// SPDX-License-Identifier: Apache-2.0
#include "poly/post_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "nest/flatten/flat_statement.h"
#include "nest/flatten/flatten.h"
#include "nest/flatten/merge.h"
#include "nest/index.h"
#include "program/origin.h"
#include "program/precision/held_integers.h"
#include "program/rewrite/rewrite.h"
#include "program/rewrite/split_maps.h"

namespace tilefuse::poly {
namespace {

using nest::Dim;
using nest::Linear;
using nest::Nest;
using nest::Operand;
using program::BufferId;
using program::Expr;
using program::StoredProgram;
using program::TensorId;

// A group under construction: its nest and bindings.
struct Draft {
  Nest nest;
  Indexed<SlotId, BufferId> buffers;
  std::string origin;
  int statement = -1;
};

// For each index of the map, the coordinate of the shared tensor that it runs over, in the indices
// of a piece of the producer; nothing when the map does not write its own result plainly and whole.
std::optional<std::vector<Linear>> match_indices(const Nest &piece, const Nest &map) {
  if (piece.out.dims.size() != map.out.dims.size())
    return std::nullopt;
  std::vector<std::optional<Linear>> of_map(map.indices.size());
  for (std::size_t d = 0; d < map.out.dims.size(); ++d) {
    const Dim &dim = map.out.dims[d];
    if (piece.out.dims[d].size != dim.size || dim.at.constant != 0)
      return std::nullopt;
    if (dim.size == 1)
      continue;
    const auto is_used = [](std::int64_t coeff) { return coeff != 0; };
    const auto used = std::find_if(dim.at.coeff.begin(), dim.at.coeff.end(), is_used);
    if (std::count_if(dim.at.coeff.begin(), dim.at.coeff.end(), is_used) != 1 || *used != 1)
      return std::nullopt;
    const auto index = static_cast<std::size_t>(used - dim.at.coeff.begin());
    if (map.indices[index].extent != dim.size || of_map[index])
      return std::nullopt;
    of_map[index] = piece.out.dims[d].at;
  }
  std::vector<Linear> whole;
  for (std::optional<Linear> &at : of_map) {
    if (!at)
      return std::nullopt;
    whole.push_back(std::move(*at));
  }
  return whole;
}

// Binds `buffer` to a slot of the draft, a new one when it has none.
SlotId slot_of(Draft &draft, BufferId buffer, const nest::Slot &slot) {
  for (const SlotId s : draft.buffers.ids())
    if (draft.buffers[s] == buffer)
      return s;
  const SlotId added = draft.buffers.next_id();
  draft.buffers.push_back(buffer);
  draft.nest.slots.push_back(slot);
  return added;
}

// An operand of `map` in terms of the producer's indices and slots.
Operand carry(Draft &producer, const Draft &map, Operand operand,
              const std::vector<Linear> &indices) {
  const SlotId slot = operand.slot;
  operand.slot = slot_of(producer, map.buffers[slot], map.nest.slots[slot]);
  for (Dim &dim : operand.dims) {
    Linear at{dim.at.constant, std::vector<std::int64_t>(producer.nest.indices.size(), 0)};
    for (std::size_t i = 0; i < dim.at.coeff.size(); ++i) {
      at.constant += dim.at.coeff[i] * indices[i].constant;
      for (std::size_t p = 0; p < at.coeff.size(); ++p)
        at.coeff[p] += dim.at.coeff[i] * indices[i].coeff[p];
    }
    dim.at = std::move(at);
  }
  return operand;
}

int extra_position(Nest &nest, const Operand &operand) {
  const auto found = std::find(nest.extras.begin(), nest.extras.end(), operand);
  if (found != nest.extras.end())
    return static_cast<int>(found - nest.extras.begin());
  nest.extras.push_back(operand);
  return static_cast<int>(nest.extras.size()) - 1;
}

// `expr` with its operand leaves replaced.
Expr substitute(const Expr &expr, const std::vector<Expr> &leaves) {
  if (expr.kind == Expr::Kind::Operand)
    return leaves[at(expr.operand)];
  Expr copy = expr;
  for (Expr &arg : copy.args)
    arg = substitute(arg, leaves);
  return copy;
}

Expr with_type(Expr expr, DType type) {
  return expr.type == type ? expr : program::cast(std::move(expr), type);
}

// Leaves of the map's post-op that read what its producer made.
int count_readings(const Expr &expr, const std::vector<bool> &reads_producer) {
  if (expr.kind == Expr::Kind::Operand)
    return reads_producer[at(expr.operand)] ? 1 : 0;
  int count = 0;
  for (const Expr &arg : expr.args)
    count += count_readings(arg, reads_producer);
  return count;
}

// The slots that no operand reads or writes any more disappear.
void drop_unused_slots(Draft &draft) {
  Indexed<SlotId, std::optional<SlotId>> renamed(draft.buffers.size());
  Indexed<SlotId, BufferId> buffers;
  Indexed<SlotId, nest::Slot> slots;
  const auto keep = [&](Operand &operand) {
    std::optional<SlotId> &slot = renamed[operand.slot];
    if (!slot) {
      slot = slots.next_id();
      slots.push_back(draft.nest.slots[operand.slot]);
      buffers.push_back(draft.buffers[operand.slot]);
    }
    operand.slot = *slot;
  };
  for (Operand &input : draft.nest.inputs)
    keep(input);
  for (Operand &extra : draft.nest.extras)
    keep(extra);
  keep(draft.nest.out);
  draft.buffers = std::move(buffers);
  draft.nest.slots = std::move(slots);
}

// The map's post-op on top of the producer's, written where the map writes.
Draft fuse(Draft producer, const Draft &map, const std::vector<Linear> &indices,
           const std::vector<bool> &reads_producer) {
  const Expr inner = producer.nest.post;
  std::vector<Expr> leaves;
  for (std::size_t k = 0; k < map.nest.extras.size(); ++k) {
    const DType type = type_of(map.nest, map.nest.extras[k]);
    if (reads_producer[k]) {
      leaves.push_back(with_type(inner, type));
      continue;
    }
    const Operand operand = carry(producer, map, map.nest.extras[k], indices);
    leaves.push_back(program::operand(extra_position(producer.nest, operand), type));
  }
  producer.nest.post = program::held_integers(substitute(map.nest.post, leaves));
  producer.nest.out = carry(producer, map, map.nest.out, indices);
  producer.origin = program::join_origins(producer.origin, map.origin);
  drop_unused_slots(producer);
  return producer;
}

// Nodes of the post-op that fuse makes. Every reading of the producer's result becomes a copy of
// its whole post-op, so that a chain of maps that read their operand twice would double it each
// time.
int fused_nodes(const Nest &producer, const Nest &map, const std::vector<bool> &reads_producer) {
  return program::count_nodes(map.post) +
         count_readings(map.post, reads_producer) * program::count_nodes(producer.post);
}

// Whether the expression stays of a size that a kernel may hold, or the producer's adds nothing.
bool stays_small(const Nest &producer, const Nest &map, const std::vector<bool> &reads_producer) {
  return producer.post.args.empty() || fused_nodes(producer, map, reads_producer) <= kMaxPostNodes;
}

// How often each tensor's elements are read: by statements, as outputs (counting as one reading),
// and through every other tensor whose window lies in the same buffer, such as a view or the whole
// of a concatenation.
std::vector<int> count_readers(const StoredProgram &stored) {
  const program::Program &program = stored.program;
  std::vector<int> readers(program.tensors.size(), 0);
  for (const program::Statement &statement : program.statements)
    for (TensorId id : program::reads(statement))
      ++readers[at(id)];
  for (TensorId id : program.outputs)
    ++readers[at(id)];
  std::map<BufferId, int> of_buffer;
  for (std::size_t t = 0; t < readers.size(); ++t)
    of_buffer[stored.windows[t].buffer] += readers[t];
  for (std::size_t t = 0; t < readers.size(); ++t)
    readers[t] = of_buffer[stored.windows[t].buffer];
  return readers;
}

class Grouping {
public:
  Grouping(const StoredProgram &stored, bool fuse_maps)
      : stored_(stored), fuse_maps_(fuse_maps), readers_(count_readers(stored)) {}

  std::vector<PlacedGroup> run() {
    const std::vector<program::Statement> &statements = stored_.program.statements;
    for (std::size_t s = 0; s < statements.size(); ++s)
      add(statements[s], static_cast<int>(s));
    std::vector<PlacedGroup> groups;
    for (std::optional<Draft> &draft : drafts_)
      if (draft)
        groups.push_back(finish(std::move(*draft)));
    return groups;
  }

private:
  // What computes a tensor: drafts that write disjoint pieces of it.
  struct Pieces {
    std::vector<std::size_t> drafts;
    bool is_whole = false; // they write every element
  };

  void add(const program::Statement &statement, int number) {
    std::vector<Draft> drafts;
    std::int64_t points = 0;
    for (nest::FlatStatement &flat : nest::flatten(stored_, statement)) {
      points += nest::output_points(flat.nest);
      drafts.push_back({std::move(flat.nest), std::move(flat.buffers), statement.origin, number});
    }
    if (const auto *map = std::get_if<program::Map>(&statement.body);
        fuse_maps_ && map && drafts.size() == 1)
      drafts = fuse_producer(std::move(drafts.front()), *map);
    Pieces &pieces = last_[statement.out];
    pieces.is_whole = points == program::elems(stored_.program[statement.out].shape);
    for (Draft &draft : drafts) {
      pieces.drafts.push_back(drafts_.size());
      drafts_.emplace_back(std::move(draft));
    }
  }

  // Fuses the map with the latest of the results it alone reads, if one fits: with every piece.
  std::vector<Draft> fuse_producer(Draft map, const program::Map &body) {
    std::optional<TensorId> best;
    for (TensorId operand : body.operands) {
      if (!fits(operand, map, body))
        continue;
      if (!best || last_.at(operand).drafts.back() > last_.at(*best).drafts.back())
        best = operand;
    }
    if (!best)
      return {std::move(map)};
    const std::vector<bool> reads = reads_of(map, *best);
    std::vector<Draft> fused;
    for (const std::size_t d : last_.at(*best).drafts) {
      Draft piece = std::move(*drafts_[d]);
      drafts_[d].reset();
      const std::optional<std::vector<Linear>> indices = match_indices(piece.nest, map.nest);
      fused.push_back(fuse(std::move(piece), map, *indices, reads));
    }
    last_.erase(*best);
    return fused;
  }

  bool fits(TensorId operand, const Draft &map, const program::Map &body) const {
    const auto found = last_.find(operand);
    if (found == last_.end() || !found->second.is_whole)
      return false;
    const auto uses = std::count(body.operands.begin(), body.operands.end(), operand);
    if (readers_[at(operand)] != static_cast<int>(uses))
      return false;
    const std::vector<std::size_t> &drafts = found->second.drafts;
    if (std::any_of(drafts.begin(), drafts.end(),
                    [&](std::size_t d) { return !match_indices(drafts_[d]->nest, map.nest); }))
      return false;
    const std::vector<bool> reads = reads_of(map, operand);
    return std::find(reads.begin(), reads.end(), true) != reads.end() &&
           std::all_of(drafts.begin(), drafts.end(), [&](std::size_t d) {
             return stays_small(drafts_[d]->nest, map.nest, reads);
           });
  }

  // Which extras of the map are plain readings of `tensor`.
  std::vector<bool> reads_of(const Draft &map, TensorId tensor) const {
    const program::Window &window = stored_.windows[at(tensor)];
    std::vector<bool> reads;
    for (const Operand &extra : map.nest.extras) {
      const bool same = map.buffers[extra.slot] == window.buffer && extra.offset == window.offset &&
                        same_points(extra, map.nest, tensor);
      reads.push_back(same);
    }
    return reads;
  }

  // The operand runs over the whole tensor as the map's result runs over its own.
  bool same_points(const Operand &extra, const Nest &map, TensorId tensor) const {
    const program::Shape &shape = stored_.program[tensor].shape;
    const program::Window &window = stored_.windows[at(tensor)];
    if (extra.dims.size() != shape.size() || map.out.dims.size() != shape.size())
      return false;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (extra.dims[d].at != map.out.dims[d].at || extra.dims[d].size != shape[d] ||
          (shape[d] > 1 && extra.dims[d].stride != window.strides[d]))
        return false;
    return true;
  }

  static PlacedGroup finish(Draft draft) {
    Nest merged = nest::merge_indices(draft.nest);
    const std::string_view algorithm = program::rewritten_by(draft.origin);
    merged.name = fmt::format("{}{}{}", algorithm, algorithm.empty() ? "" : "_", stem(merged));
    nest::verify(merged);
    return {.group = {std::move(merged), {}},
            .buffers = std::move(draft.buffers),
            .origin = std::move(draft.origin),
            .notes = {},
            .statement = draft.statement};
  }

  static std::string_view stem(const Nest &nest) {
    if (nest.inputs.empty())
      return "map";
    if (nest.agg == program::Agg::Assign)
      return "copy";
    if (nest.comb == program::Comb::Pick)
      return "pick";
    if (program::compares(nest.comb))
      return "select";
    if (nest.agg == program::Agg::Max)
      return "maxpool";
    if (nest.inputs.size() < 2)
      return "reduce";
    const auto windowed = [](const Dim &dim) {
      return std::count_if(dim.at.coeff.begin(), dim.at.coeff.end(),
                           [](std::int64_t c) { return c != 0; }) > 1;
    };
    const std::vector<Dim> &dims = nest.inputs[0].dims;
    return std::any_of(dims.begin(), dims.end(), windowed) ? "conv" : "gemm";
  }

  const StoredProgram &stored_;
  bool fuse_maps_;
  std::vector<int> readers_;
  std::vector<std::optional<Draft>> drafts_; // nothing where a draft was fused into a later one
  std::map<TensorId, Pieces> last_;          // tensor → what computes it
};

} // namespace

std::vector<PlacedGroup> group_nests(const StoredProgram &stored, bool fuse_maps) {
  return Grouping(stored, fuse_maps).run();
}

std::vector<PlacedGroup> make_groups(const StoredProgram &stored) {
  return group_nests(stored, true);
}

} // namespace tilefuse::poly
