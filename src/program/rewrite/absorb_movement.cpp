// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/absorb_movement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/readers.h"
#include "program/rewrite/defer_movement.h"
#include "program/rewrite/defer_scales.h"
#include "program/rewrite/movement.h"
#include "program/rewrite/read_through.h"
#include "program/rewrite/regroup.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

// Each reaches one contraction further.
constexpr int kMostRounds = 16;

bool is_sum_of_one(const Contraction &body) {
  return body.agg != Agg::Assign && body.comb == Comb::None;
}

class Absorbing {
public:
  explicit Absorbing(Program program)
      : result_(std::move(program)), readers_(count_readers(result_)) {}

  Program run() {
    for (Statement &statement : std::exchange(result_.statements, {}))
      add(std::move(statement));
    std::vector<Statement> statements = std::move(result_.statements);
    return with_statements(std::move(result_), std::move(statements), true);
  }

  bool has_changed() const { return has_changed_; }

private:
  void add(Statement statement) {
    if (auto *body = std::get_if<Contraction>(&statement.body))
      read_before(statement, *body);
    if (const std::optional<TensorId> written = written_there(statement)) {
      statement.body = View{*written};
      has_changed_ = true;
    }
    append(std::move(statement));
  }

  void append(Statement statement) {
    if (const std::optional<Movement> movement = movement_of(result_, statement))
      moves_.emplace(statement.out, *movement);
    writers_.emplace(statement.out, result_.statements.size());
    result_.statements.push_back(std::move(statement));
  }

  // Whether the statement reads what was moved, or has indices that could disappear, and does not
  // place a tensor in another one. A pick names indices by number, and stays as it is.
  bool may_change(const Statement &statement, const Contraction &body) const {
    if (body.comb == Comb::Pick)
      return false;
    const Shape &shape = result_[statement.out].shape;
    const bool reads_moved = std::any_of(body.in.begin(), body.in.end(), [&](const Access &access) {
      return moves_.count(access.tensor) != 0;
    });
    return (reads_moved || std::count(shape.begin(), shape.end(), 1) != 0) &&
           (body.agg != Agg::Assign || movement_of(result_, statement).has_value());
  }

  void read_before(Statement &statement, Contraction &body) {
    if (!may_change(statement, body))
      return;
    ReadThrough best(result_, body, result_[statement.out].shape);
    bool is_changed = best.drop_idle_indices();
    for (std::size_t k = 0; k < body.in.size(); ++k)
      is_changed |= read_before(best, k);
    if (!is_changed)
      return;
    has_changed_ = true;
    best.drop_idle_indices(); // of dimensions that are gone
    best.bound_indices();
    finish(statement, best);
  }

  // As far back as operand `k` can be read well.
  bool read_before(ReadThrough &best, std::size_t k) {
    bool is_changed = false;
    ReadThrough next = best;
    for (auto found = moves_.find(next.body().in[k].tensor); found != moves_.end();
         found = moves_.find(next.body().in[k].tensor)) {
      if (!next.read_before(k, found->second))
        break;
      const bool joins_map =
          is_map(found->second.from) && is_sum_of_one(next.body()) && reads_whole(next, k);
      if ((found->second.is_view() && !joins_map) || !next.is_regular(k))
        continue;
      best = next;
      is_changed = true;
    }
    return is_changed;
  }

  // Whether the operand is read in its own shape in the end.
  bool reads_whole(ReadThrough form, std::size_t k) const {
    form.bound_indices();
    return form.operand_shape(k) == result_[form.body().in[k].tensor].shape;
  }

  // The statement by what it was rewritten to.
  void finish(Statement &statement, const ReadThrough &from) {
    Contraction body = from.body();
    for (std::size_t k = 0; k < body.in.size(); ++k)
      if (const Tensor &tensor = result_[body.in[k].tensor]; tensor.shape != from.operand_shape(k))
        body.in[k].tensor = view(body.in[k].tensor, from.operand_shape(k), statement.origin);
    if (from.shape() == result_[statement.out].shape) {
      statement.body = std::move(body);
      return;
    }
    const TensorId whole = add_like(result_, statement.out, from.shape());
    append({whole, std::move(body), statement.origin});
    statement.body = View{whole};
  }

  TensorId view(TensorId of, const Shape &shape, const std::string &origin) {
    const TensorId id = add_like(result_, of, shape);
    append({id, View{of}, origin});
    return id;
  }

  bool is_map(TensorId id) const {
    const auto found = writers_.find(id);
    return found != writers_.end() &&
           std::holds_alternative<Map>(result_.statements[found->second].body);
  }

  // A result is written where it is moved to: factors of its shape, and their order there.
  struct Place {
    Shape factors;
    std::vector<std::size_t> order;
  };

  bool is_read_once(TensorId id) const {
    return at(id) >= readers_.size() || readers_[at(id)] == 1;
  }

  // The result of a permutation of what a contraction computes for it alone, by the contraction.
  std::optional<TensorId> written_there(const Statement &statement) {
    const std::optional<Movement> movement = movement_of(result_, statement);
    const auto to = movement ? permutation_of(result_, *movement, statement.out) : std::nullopt;
    if (!to || std::is_sorted(to->begin(), to->end()))
      return std::nullopt;
    const Shape moved = result_[movement->from].shape;
    TensorId from = movement->from;
    while (moves_.count(from) != 0 && moves_.at(from).is_view() && is_read_once(from))
      from = moves_.at(from).from;
    const std::optional<Regrouping> groups = regroup(moved, result_[from].shape);
    if (!groups)
      return std::nullopt;
    Place place{groups->factors, {}};
    for (std::size_t e = 0; e < to->size(); ++e) {
      const auto d = static_cast<std::size_t>(std::find(to->begin(), to->end(), e) - to->begin());
      place.order.insert(place.order.end(), groups->a[d].begin(), groups->a[d].end());
    }
    return keeps_rows(*groups, place) ? write(from, place) : std::nullopt;
  }

  // Dimensions move whole, but for the first.
  static bool keeps_rows(const Regrouping &groups, const Place &place) {
    for (std::size_t d = 1; d < groups.b.size(); ++d)
      if (std::search(place.order.begin(), place.order.end(), groups.b[d].begin(),
                      groups.b[d].end()) == place.order.end())
        return false;
    return true;
  }

  // A tensor of the elements of `id` in their place.
  std::optional<TensorId> write(TensorId id, const Place &place) {
    const auto found = writers_.find(id);
    if (found == writers_.end() || !is_read_once(id))
      return std::nullopt;
    const Statement statement = result_.statements[found->second];
    if (const auto *map = std::get_if<Map>(&statement.body))
      return write_map(statement, *map, place);
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->agg == Agg::Assign || body->comb == Comb::Pick || body->init)
      return std::nullopt;
    ReadThrough form(result_, *body, result_[id].shape);
    if (!form.write_as(place.factors, place.order))
      return std::nullopt;
    const TensorId there = add_like(result_, id, form.shape());
    append({there, form.body(), statement.origin});
    return there;
  }

  std::optional<TensorId> write_map(const Statement &statement, const Map &map,
                                    const Place &place) {
    const Shape whole = result_[statement.out].shape;
    Map moved = map;
    bool is_computed = false;
    for (TensorId &id : moved.operands) {
      const bool is_whole = result_[id].shape == whole;
      const auto there =
          is_whole ? write(id, place) : broadcast(id, whole, place, statement.origin);
      if (!there)
        return std::nullopt;
      is_computed |= is_whole;
      id = *there;
    }
    if (!is_computed)
      return std::nullopt;
    Shape shape;
    for (const std::size_t factor : place.order)
      shape.push_back(place.factors[factor]);
    const TensorId there = add_like(result_, statement.out, shape);
    append({there, std::move(moved), statement.origin});
    return there;
  }

  // An operand that broadcasts to a result, as it does to the result in its place.
  std::optional<TensorId> broadcast(TensorId id, const Shape &whole, const Place &place,
                                    const std::string &origin) {
    if (elems(result_[id].shape) == 1)
      return result_[id].shape.size() <= place.order.size() ? id : view(id, {}, origin);
    const auto factors =
        broadcast_before_view(aligned_to(whole.size(), result_[id].shape), whole, place.factors);
    const auto shape = factors ? broadcast_before_permutation(*factors, place.order) : std::nullopt;
    if (!shape)
      return std::nullopt;
    return view(id, *shape, origin);
  }

  Program result_;
  bool has_changed_ = false;
  std::vector<int> readers_; // by tensor that was given
  std::map<TensorId, Movement> moves_;
  std::map<TensorId, std::size_t> writers_; // their statements
};

} // namespace

Program absorb_movement(Program program) {
  Program result = defer_movement(defer_scales(std::move(program)));
  bool has_changed = true;
  for (int round = 0; has_changed && round < kMostRounds; ++round) {
    Absorbing absorbing(std::move(result));
    result = defer_movement(absorbing.run());
    has_changed = absorbing.has_changed();
  }
  return result;
}

} // namespace tilefuse::program
