// SPDX-License-Identifier: Apache-2.0
#include "poly/join_statistics.h"

#include <utility>

#include "base/index.h"
#include "nest/index.h"
#include "poly/group_buffers.h"
#include "poly/joinable.h"

namespace tilefuse::poly {
namespace {

using program::BufferId;
using program::Expr;

// The expression with operands in `type`, whatever they are stored as; nothing where it computes in
// another.
std::optional<Expr> in_type(const Expr &expr, DType type) {
  if (expr.kind == Expr::Kind::Cast && expr.type == type &&
      expr.args[0].kind == Expr::Kind::Operand)
    return program::operand(expr.args[0].operand, type);
  if (expr.type != type || expr.kind == Expr::Kind::Cast || expr.kind == Expr::Kind::Acc)
    return std::nullopt;
  Expr all = expr;
  for (Expr &arg : all.args) {
    std::optional<Expr> part = in_type(arg, type);
    if (!part)
      return std::nullopt;
    arg = std::move(*part);
  }
  return all;
}

class Joining {
public:
  Joining(Joinable &groups, std::int64_t most_keys, const TakesStatistics &takes)
      : groups_(groups), most_keys_(most_keys), takes_(takes) {}

  void run() {
    for (std::size_t c = 0; c < groups_.size(); ++c)
      if (groups_.is_there(c) && groups_[c].group.producers.empty())
        offer(c);
  }

private:
  using Found = Joinable::Found;

  // Whether a group reduces rows that are as many elements as group c writes.
  bool is_statistic(std::size_t g, std::size_t c) const {
    const nest::Nest &nest = groups_[g].group.anchor;
    const bool is_square = nest.comb == program::Comb::Mul && nest.inputs.size() == 2 &&
                           nest.inputs[0] == nest.inputs[1];
    const bool is_sum =
        nest.comb == program::Comb::None || nest.comb == program::Comb::Term || is_square;
    std::int64_t keys = 1;
    for (const nest::IndexId i : reduced_indices(nest))
      keys *= extent(nest, i);
    return is_sum && nest.constraints.empty() && keys > 1 && keys <= most_keys_ &&
           output_points(nest) * keys == output_points(groups_[c].group.anchor);
  }

  // The statistics that group c reads, and those that they do.
  Found statistics(std::size_t c) const {
    Found found;
    std::vector<std::size_t> open = {c};
    while (!open.empty()) {
      const std::size_t reader = open.back();
      open.pop_back();
      for (const BufferId buffer : read_buffers(groups_[reader])) {
        const std::optional<std::size_t> g = groups_.writer(buffer);
        if (g && *g < c && is_statistic(*g, c) && found.insert(*g).second)
          open.push_back(*g);
      }
    }
    return found;
  }

  bool is_made_by(const Found &found, BufferId buffer) const {
    const std::optional<std::size_t> g = groups_.writer(buffer);
    return g && found.count(*g) > 0;
  }

  // `reader` with the statistics that its anchor reads, and theirs; nothing, and why.
  std::optional<PlacedGroup> fed(PlacedGroup reader, const Found &found, std::string &why) const {
    for (const nest::Operand &extra : reader.group.anchor.extras)
      if (is_made_by(found, reader.buffers[extra.slot])) {
        why = "a statistic is read behind a sum, where nothing is staged";
        return std::nullopt;
      }
    const int inputs = static_cast<int>(reader.group.anchor.inputs.size());
    for (int k = 0; k < inputs; ++k) {
      const BufferId buffer = reader.buffers[reader.group.anchor.inputs[at(k)].slot];
      if (!is_made_by(found, buffer))
        continue;
      const std::optional<PlacedGroup> producer = fed(groups_[*groups_.writer(buffer)], found, why);
      std::optional<PlacedGroup> both =
          producer ? attach(reader, kAnchor, k, *producer, &why) : std::nullopt;
      if (!both)
        return std::nullopt;
      reader = std::move(*both);
    }
    return reader;
  }

  void offer(std::size_t c) {
    const std::optional<nest::Nest> map = as_inputs(groups_[c].group.anchor);
    const Found found = map ? statistics(c) : Found();
    if (found.empty() || !groups_.are_alone(found, c) || groups_.are_overtaken(found, c))
      return;
    PlacedGroup reader = groups_[c];
    reader.group.anchor = *map;
    std::string broken;
    std::optional<PlacedGroup> joined = fed(std::move(reader), found, broken);
    if (takes_(joined ? *joined : groups_[c], groups_.apart(c, found), broken))
      groups_.join(c, found, std::move(*joined));
  }

  Joinable &groups_;
  const std::int64_t most_keys_;
  const TakesStatistics &takes_;
};

} // namespace

std::optional<nest::Nest> as_inputs(const nest::Nest &map) {
  if (!map.inputs.empty() || !map.constraints.empty() || map.extras.empty())
    return std::nullopt;
  const bool is_stored = map.post.kind == Expr::Kind::Cast;
  const Expr &value = is_stored ? map.post.args[0] : map.post;
  std::optional<Expr> term = in_type(value, value.type);
  if (!term || !is_float(value.type))
    return std::nullopt;
  nest::Nest nest = map;
  nest.acc_type = value.type;
  nest.comb = program::Comb::Term;
  nest.term = std::move(*term);
  nest.inputs = std::exchange(nest.extras, {});
  nest.post = program::acc(value.type);
  if (is_stored)
    nest.post = program::cast(nest.post, map.post.type);
  return nest;
}

std::vector<PlacedGroup> join_statistics(std::vector<PlacedGroup> groups,
                                         const program::StoredProgram &stored,
                                         std::int64_t most_keys, const TakesStatistics &takes) {
  Joinable all(std::move(groups), stored);
  Joining(all, most_keys, takes).run();
  return std::move(all).left();
}

} // namespace tilefuse::poly
