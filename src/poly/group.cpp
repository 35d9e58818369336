// SPDX-License-Identifier: Apache-2.0
#include "poly/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "nest/passes.h"

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

// A group under construction: its nest, bindings, and the tensor its nest computes.
struct Draft {
  Nest nest;
  std::vector<BufferId> buffers;
  std::string origin;
  TensorId result{};
  bool is_final = true;  // computes `result` whole; a copy of an init does not
};

// For each index of the map, the producer's index that runs over the same dimension of the shared tensor; nothing when the
// producer's result is not written plainly and whole.
std::optional<std::vector<int>> match_indices(const Nest& producer, const Nest& map) {
  if (producer.out.dims.size() != map.out.dims.size()) return std::nullopt;
  const auto plain = [](const Dim& dim, const Nest& nest) -> int {
    int found = -1;
    for (std::size_t i = 0; i < dim.at.coeff.size(); ++i) {
      if (dim.at.coeff[i] == 0) continue;
      if (found >= 0 || dim.at.coeff[i] != 1 || nest.indices[i].extent != dim.size) return -2;
      found = static_cast<int>(i);
    }
    return dim.at.constant == 0 ? found : -2;
  };
  std::vector<int> of_map(map.indices.size(), -1);
  for (std::size_t d = 0; d < map.out.dims.size(); ++d) {
    if (producer.out.dims[d].size != map.out.dims[d].size) return std::nullopt;
    const int from = plain(map.out.dims[d], map);
    const int to = plain(producer.out.dims[d], producer);
    if (from == -2 || to == -2 || (from < 0) != (to < 0)) return std::nullopt;
    if (from < 0 && producer.out.dims[d].size != 1) return std::nullopt;
    if (from >= 0) of_map[static_cast<std::size_t>(from)] = to;
  }
  const bool whole = std::none_of(of_map.begin(), of_map.end(), [](int i) { return i < 0; });
  return whole ? std::optional(of_map) : std::nullopt;
}

// Binds `buffer` to a slot of the draft, a new one when it has none.
int slot_of(Draft& draft, BufferId buffer, const nest::Slot& slot) {
  for (std::size_t s = 0; s < draft.buffers.size(); ++s)
    if (draft.buffers[s] == buffer) return static_cast<int>(s);
  draft.buffers.push_back(buffer);
  draft.nest.slots.push_back(slot);
  return static_cast<int>(draft.buffers.size()) - 1;
}

// An operand of `map` in terms of the producer's indices and slots.
Operand carry(Draft& producer, const Draft& map, Operand operand, const std::vector<int>& indices) {
  const std::size_t slot = static_cast<std::size_t>(operand.slot);
  operand.slot = slot_of(producer, map.buffers[slot], map.nest.slots[slot]);
  for (Dim& dim : operand.dims) {
    Linear at{dim.at.constant, std::vector<std::int64_t>(producer.nest.indices.size(), 0)};
    for (std::size_t i = 0; i < dim.at.coeff.size(); ++i)
      at.coeff[static_cast<std::size_t>(indices[i])] += dim.at.coeff[i];
    dim.at = std::move(at);
  }
  return operand;
}

int extra_position(Nest& nest, const Operand& operand) {
  const auto found = std::find(nest.extras.begin(), nest.extras.end(), operand);
  if (found != nest.extras.end()) return static_cast<int>(found - nest.extras.begin());
  nest.extras.push_back(operand);
  return static_cast<int>(nest.extras.size()) - 1;
}

// `expr` with its operand leaves replaced.
Expr substitute(const Expr& expr, const std::vector<Expr>& leaves) {
  if (expr.kind == Expr::Kind::Operand) return leaves[static_cast<std::size_t>(expr.operand)];
  Expr copy = expr;
  for (Expr& arg : copy.args) arg = substitute(arg, leaves);
  return copy;
}

Expr with_type(Expr expr, DType type) {
  return expr.type == type ? expr : program::cast(std::move(expr), type);
}

// The slots that no operand reads or writes any more disappear.
void drop_unused_slots(Draft& draft) {
  std::vector<int> renamed(draft.buffers.size(), -1);
  std::vector<BufferId> buffers;
  std::vector<nest::Slot> slots;
  const auto keep = [&](Operand& operand) {
    int& slot = renamed[static_cast<std::size_t>(operand.slot)];
    if (slot < 0) {
      slot = static_cast<int>(slots.size());
      slots.push_back(draft.nest.slots[static_cast<std::size_t>(operand.slot)]);
      buffers.push_back(draft.buffers[static_cast<std::size_t>(operand.slot)]);
    }
    operand.slot = slot;
  };
  for (Operand& input : draft.nest.inputs) keep(input);
  for (Operand& extra : draft.nest.extras) keep(extra);
  keep(draft.nest.out);
  draft.buffers = std::move(buffers);
  draft.nest.slots = std::move(slots);
}

// The map's post-op on top of the producer's, written where the map writes.
Draft fuse(Draft producer, const Draft& map, const std::vector<int>& indices,
           const std::vector<bool>& reads_producer) {
  const Expr inner = producer.nest.post;
  std::vector<Expr> leaves;
  for (std::size_t k = 0; k < map.nest.extras.size(); ++k) {
    const DType type = map.nest.slots[static_cast<std::size_t>(map.nest.extras[k].slot)].type;
    if (reads_producer[k]) {
      leaves.push_back(with_type(inner, type));
      continue;
    }
    const Operand operand = carry(producer, map, map.nest.extras[k], indices);
    leaves.push_back(program::operand(extra_position(producer.nest, operand), type));
  }
  producer.nest.post = substitute(map.nest.post, leaves);
  producer.nest.out = carry(producer, map, map.nest.out, indices);
  producer.origin += " + " + map.origin;
  producer.result = map.result;
  drop_unused_slots(producer);
  return producer;
}

// How often each tensor's elements are read: by statements, as outputs (counting as one reading), and through every other
// tensor whose window lies in the same buffer, such as a view or the whole of a concatenation.
std::vector<int> count_readers(const StoredProgram& stored) {
  const program::Program& program = stored.program;
  std::vector<int> readers(program.tensors.size(), 0);
  for (const program::Statement& statement : program.statements)
    for (TensorId id : program::reads(statement)) ++readers[static_cast<std::size_t>(to_int(id))];
  for (TensorId id : program.outputs) ++readers[static_cast<std::size_t>(to_int(id))];
  std::map<BufferId, int> of_buffer;
  for (std::size_t t = 0; t < readers.size(); ++t) of_buffer[stored.windows[t].buffer] += readers[t];
  for (std::size_t t = 0; t < readers.size(); ++t) readers[t] = of_buffer[stored.windows[t].buffer];
  return readers;
}

class Grouping {
 public:
  explicit Grouping(const StoredProgram& stored)
      : stored_(stored), readers_(count_readers(stored)) {}

  std::vector<PlacedGroup> run() {
    for (const program::Statement& statement : stored_.program.statements) add(statement);
    std::vector<PlacedGroup> groups;
    for (std::optional<Draft>& draft : drafts_)
      if (draft) groups.push_back(finish(std::move(*draft)));
    return groups;
  }

 private:
  void add(const program::Statement& statement) {
    const std::vector<nest::FlatStatement> flats = nest::flatten(stored_, statement);
    for (std::size_t f = 0; f < flats.size(); ++f) {
      Draft draft{flats[f].nest, flats[f].buffers, statement.origin, statement.out,
                  f + 1 == flats.size()};
      if (const auto* map = std::get_if<program::Map>(&statement.body))
        draft = fuse_producer(std::move(draft), *map);
      if (draft.is_final) last_[statement.out] = drafts_.size();
      drafts_.emplace_back(std::move(draft));
    }
  }

  // Fuses the map with the latest of the results it alone reads, if one fits.
  Draft fuse_producer(Draft map, const program::Map& body) {
    std::optional<std::size_t> best;
    TensorId tensor{};
    for (TensorId operand : body.operands) {
      const auto found = last_.find(operand);
      if (found == last_.end() || !drafts_[found->second] || !fits(operand, map, body)) continue;
      if (!best || found->second > *best) best = found->second, tensor = operand;
    }
    if (!best) return map;
    Draft producer = std::move(*drafts_[*best]);
    const std::optional<std::vector<int>> indices = match_indices(producer.nest, map.nest);
    drafts_[*best].reset();
    return fuse(std::move(producer), map, *indices, reads_of(map, tensor));
  }

  bool fits(TensorId operand, const Draft& map, const program::Map& body) const {
    const auto uses = std::count(body.operands.begin(), body.operands.end(), operand);
    if (readers_[static_cast<std::size_t>(to_int(operand))] != static_cast<int>(uses)) return false;
    const Draft& producer = *drafts_[last_.at(operand)];
    if (producer.result != operand || !match_indices(producer.nest, map.nest)) return false;
    const std::vector<bool> reads = reads_of(map, operand);
    return std::find(reads.begin(), reads.end(), true) != reads.end();
  }

  // Which extras of the map are plain readings of `tensor`.
  std::vector<bool> reads_of(const Draft& map, TensorId tensor) const {
    const program::Window& window = stored_.windows[static_cast<std::size_t>(to_int(tensor))];
    std::vector<bool> reads;
    for (const Operand& extra : map.nest.extras) {
      const bool same = map.buffers[static_cast<std::size_t>(extra.slot)] == window.buffer &&
                        extra.offset == window.offset && same_points(extra, map.nest, tensor);
      reads.push_back(same);
    }
    return reads;
  }

  // The operand runs over the whole tensor as the map's result runs over its own.
  bool same_points(const Operand& extra, const Nest& map, TensorId tensor) const {
    const program::Shape& shape = stored_.program[tensor].shape;
    const program::Window& window = stored_.windows[static_cast<std::size_t>(to_int(tensor))];
    if (extra.dims.size() != shape.size() || map.out.dims.size() != shape.size()) return false;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (extra.dims[d].at != map.out.dims[d].at || extra.dims[d].size != shape[d] ||
          (shape[d] > 1 && extra.dims[d].stride != window.strides[d]))
        return false;
    return true;
  }

  static PlacedGroup finish(Draft draft) {
    Nest merged = nest::merge_indices(draft.nest);
    merged.name = std::string(stem(merged));
    nest::verify(merged);
    return {{std::move(merged)}, std::move(draft.buffers), std::move(draft.origin), {}};
  }

  static std::string_view stem(const Nest& nest) {
    if (nest.inputs.empty()) return "map";
    if (nest.agg == program::Agg::Assign) return "copy";
    if (nest.agg == program::Agg::Max) return "maxpool";
    if (nest.inputs.size() < 2) return "reduce";
    const auto windowed = [](const Dim& dim) {
      return std::count_if(dim.at.coeff.begin(), dim.at.coeff.end(),
                           [](std::int64_t c) { return c != 0; }) > 1;
    };
    const std::vector<Dim>& dims = nest.inputs[0].dims;
    return std::any_of(dims.begin(), dims.end(), windowed) ? "conv" : "gemm";
  }

  const StoredProgram& stored_;
  std::vector<int> readers_;
  std::vector<std::optional<Draft>> drafts_;   // nothing where a draft was fused into a later one
  std::map<TensorId, std::size_t> last_;       // tensor → the draft that computes it
};

}  // namespace

std::vector<PlacedGroup> make_groups(const StoredProgram& stored) { return Grouping(stored).run(); }

void verify(const Group& group) { nest::verify(group.anchor); }

}  // namespace tilefuse::poly
