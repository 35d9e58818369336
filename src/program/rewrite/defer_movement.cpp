// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/defer_movement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/readers.h"
#include "program/rewrite/movement.h"
#include "program/rewrite/rewriter.h"
#include "program/storage/boxes.h"

namespace tilefuse::program {
namespace {

class Deferring {
public:
  explicit Deferring(Program program)
      : result_(std::move(program)), readers_(count_readers(result_)) {}

  Program run() {
    for (Statement &statement : std::exchange(result_.statements, {}))
      add(std::move(statement));
    std::vector<Statement> statements = std::move(result_.statements);
    return with_statements(std::move(result_), std::move(statements), true);
  }

private:
  const Shape &shape(TensorId id) const { return result_[id].shape; }

  void add(Statement statement) {
    replace_reads(statement);
    if (auto *view = std::get_if<View>(&statement.body))
      collapse(*view);
    if (const auto *map = std::get_if<Map>(&statement.body); map != nullptr && !follows(statement))
      for (const TensorId operand : map->operands)
        if (defer(statement, operand))
          return;
    append(std::move(statement));
  }

  void append(Statement statement) {
    note(statement);
    result_.statements.push_back(std::move(statement));
  }

  void replace_reads(Statement &statement) const {
    const auto replace = [&](TensorId &id) {
      if (const auto found = same_.find(id); found != same_.end())
        id = found->second;
    };
    if (auto *view = std::get_if<View>(&statement.body))
      replace(view->in);
    if (auto *map = std::get_if<Map>(&statement.body))
      std::for_each(map->operands.begin(), map->operands.end(), replace);
    if (auto *body = std::get_if<Contraction>(&statement.body)) {
      for (Access &access : body->in)
        replace(access.tensor);
      if (body->init)
        replace(*body->init);
    }
  }

  void collapse(View &view) const {
    if (const auto found = moves_.find(view.in); found != moves_.end() && found->second.is_view())
      view.in = found->second.from;
  }

  void note(const Statement &statement) {
    if (const std::optional<Movement> movement = movement_of(result_, statement)) {
      moves_.emplace(statement.out, *movement);
      if (movement->is_view() && shape(movement->from) == shape(statement.out))
        same_[statement.out] = movement->from;
    } else if (is_made_of_computed(statement)) {
      computed_.insert(statement.out);
    }
  }

  // A contraction, or a map of one in its shape.
  bool is_made_of_computed(const Statement &statement) const {
    const auto *map = std::get_if<Map>(&statement.body);
    return map == nullptr ||
           std::any_of(map->operands.begin(), map->operands.end(), [&](TensorId id) {
             return computed_.count(id) != 0 && shape(id) == shape(statement.out);
           });
  }

  // Whether a contraction gives the tensor, but for maps and movement.
  bool is_computed(TensorId id) const {
    for (auto found = moves_.find(id); found != moves_.end(); found = moves_.find(id)) {
      if (!found->second.is_view() && !permutation_of(result_, found->second, id))
        return false;
      id = found->second.from;
    }
    return computed_.count(id) != 0;
  }

  // Whether a map can already join what computes one of its operands for it alone.
  bool follows(const Statement &statement) const {
    const Map &map = std::get<Map>(statement.body);
    return std::any_of(map.operands.begin(), map.operands.end(), [&](TensorId id) {
      return at(id) < readers_.size() && readers_[at(id)] == 1 && computed_.count(id) != 0 &&
             shape(id) == shape(statement.out);
    });
  }

  // The map in the shape that an operand had before it was moved, and the movement behind it.
  bool defer(const Statement &statement, TensorId operand) {
    const auto found = moves_.find(operand);
    if (found == moves_.end() || shape(operand) != shape(statement.out) || !is_computed(operand))
      return false;
    const Movement movement = found->second;
    std::optional<Map> map =
        before(std::get<Map>(statement.body), operand, movement, statement.origin);
    if (!map)
      return false;
    const TensorId whole = add_like(result_, statement.out, shape(movement.from));
    Statement earlier{whole, std::move(*map), statement.origin};
    if (!defer(earlier, movement.from))
      append(std::move(earlier));
    add(moving(movement, whole, statement));
    return true;
  }

  // `statement`'s result by the movement of another tensor.
  Statement moving(const Movement &movement, TensorId whole, const Statement &statement) const {
    if (movement.is_view())
      return {statement.out, View{whole}, statement.origin};
    Contraction copy = identity(whole, shape(statement.out).size());
    copy.in[0].subscripts = *movement.subscripts;
    return {statement.out, std::move(copy), statement.origin};
  }

  // The map of operands in the shape that `operand`, so moved, comes from.
  std::optional<Map> before(const Map &map, TensorId operand, const Movement &movement,
                            const std::string &origin) {
    std::vector<Shape> shapes; // by operand
    for (const TensorId id : map.operands) {
      const std::optional<TensorId> from = undone(id, operand, movement);
      const std::optional<Shape> wanted = from ? shape(*from) : shape_before(id, operand, movement);
      if (!wanted)
        return std::nullopt;
      shapes.push_back(*wanted);
    }
    Map result = map;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      TensorId &id = result.operands[k];
      const std::optional<TensorId> from = undone(id, operand, movement);
      id = from ? *from : view(id, shapes[k], origin);
    }
    return result;
  }

  TensorId view(TensorId of, const Shape &wanted, const std::string &origin) {
    if (shape(of) == wanted)
      return of;
    const TensorId id = add_like(result_, of, wanted);
    add({id, View{of}, origin});
    const auto found = same_.find(id);
    return found == same_.end() ? id : found->second;
  }

  // What `id` is the same movement of.
  std::optional<TensorId> undone(TensorId id, TensorId operand, const Movement &movement) const {
    const auto found = moves_.find(id);
    if (found == moves_.end() || shape(id) != shape(operand) ||
        found->second.subscripts != movement.subscripts ||
        shape(found->second.from) != shape(movement.from))
      return std::nullopt;
    return found->second.from;
  }

  // The shape in which an operand broadcasts to what `operand` comes from, as it does to `operand`.
  std::optional<Shape> shape_before(TensorId id, TensorId operand, const Movement &movement) const {
    if (elems(shape(id)) == 1)
      return shape(id).size() <= shape(movement.from).size() ? shape(id) : Shape();
    const Shape aligned = aligned_to(shape(operand).size(), shape(id));
    if (movement.is_view())
      return broadcast_before_view(aligned, shape(operand), shape(movement.from));
    const auto to = permutation_of(result_, movement, operand);
    return to ? broadcast_before_permutation(aligned, *to) : std::nullopt;
  }

  Program result_;
  std::vector<int> readers_; // by tensor that was given
  std::map<TensorId, Movement> moves_;
  std::map<TensorId, TensorId> same_; // views that change nothing
  std::set<TensorId> computed_;       // by contractions, and maps of them
};

} // namespace

Program defer_movement(Program program) { return Deferring(std::move(program)).run(); }

} // namespace tilefuse::program
