// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/defer_scales.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/readers.h"
#include "program/rewrite/rewriter.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

class Deferring {
public:
  explicit Deferring(Program program)
      : result_(std::move(program)), readers_(count_readers(result_)) {}

  Program run() {
    const std::vector<Statement> given = std::move(result_.statements);
    for (std::size_t s = 0; s < given.size(); ++s)
      writers_.emplace(given[s].out, &given[s]);
    std::vector<Statement> statements;
    for (Statement statement : given) {
      while (const std::optional<std::size_t> k = scaled_operand(statement))
        statement = defer(std::move(statement), *k, statements);
      statements.push_back(std::move(statement));
      settle(statements);
    }
    return with_statements(std::move(result_), std::move(statements), true);
  }

private:
  // The factor of a map, if it is one number: which operand it scales.
  struct Scale {
    const Map *map = nullptr;
    std::size_t value = 0; // position among the operands
  };

  std::optional<Scale> scale_of(TensorId id) const {
    const auto found = writers_.find(id);
    if (found != writers_.end() && readers_[at(id)] == 1)
      if (const auto *view = std::get_if<View>(&found->second->body))
        return scale_of(view->in);
    const auto *map = found == writers_.end() ? nullptr : std::get_if<Map>(&found->second->body);
    if (map == nullptr || readers_[at(id)] != 1 || map->expr.kind != Expr::Kind::Call)
      return std::nullopt;
    const Expr &expr = map->expr;
    if (expr.op != ScalarOp::Mul && expr.op != ScalarOp::Div)
      return std::nullopt;
    for (std::size_t a = 0; a < 2; ++a) {
      const Expr &value = expr.args[a], &by = expr.args[1 - a];
      if (value.kind == Expr::Kind::Operand && is_one_number(*map, by) &&
          (a == 0 || expr.op == ScalarOp::Mul) &&
          result_[map->operands[at(value.operand)]].shape == result_[id].shape &&
          !is_sum(map->operands[at(value.operand)]))
        return Scale{map, at(value.operand)};
    }
    return std::nullopt;
  }

  // A sum of one tensor's elements, or a view of one.
  bool is_sum(TensorId id) const {
    const auto found = writers_.find(id);
    if (found == writers_.end())
      return false;
    if (const auto *view = std::get_if<View>(&found->second->body))
      return is_sum(view->in);
    const auto *body = std::get_if<Contraction>(&found->second->body);
    return body != nullptr && body->agg == Agg::Sum && body->comb == Comb::None;
  }

  bool is_one_number(const Map &map, const Expr &expr) const {
    return expr.kind == Expr::Kind::Const ||
           (expr.kind == Expr::Kind::Operand &&
            elems(result_[map.operands[at(expr.operand)]].shape) == 1);
  }

  std::optional<std::size_t> scaled_operand(const Statement &statement) const {
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->agg != Agg::Sum || body->comb != Comb::Mul || body->init ||
        !is_float(result_[statement.out].type))
      return std::nullopt;
    for (std::size_t k = 0; k < body->in.size(); ++k) {
      const TensorId id = body->in[k].tensor;
      const std::optional<Scale> scale = at(id) < readers_.size() ? scale_of(id) : std::nullopt;
      if (scale && is_float(result_[id].type) &&
          result_[scale->map->operands[scale->value]].type == result_[id].type &&
          result_[id].type == result_[statement.out].type)
        return k;
    }
    return std::nullopt;
  }

  // The product without the scale of operand `k`; the map that applies it waits in `after_`.
  Statement defer(Statement statement, std::size_t k, std::vector<Statement> &statements) {
    auto &body = std::get<Contraction>(statement.body);
    const Scale scale = *scale_of(body.in[k].tensor);
    const Shape out = result_[statement.out].shape;
    const TensorId product = add_like(result_, statement.out, out);
    Map map = *scale.map;
    const Shape shape = result_[body.in[k].tensor].shape;
    body.in[k].tensor = in_shape(map.operands[scale.value], shape, statement.origin, statements);
    map.operands[scale.value] = product;
    for (TensorId &id : map.operands)
      if (result_[id].shape.size() > out.size())
        id = in_shape(id, {}, statement.origin, statements);
    after_.push_back({statement.out, std::move(map), statement.origin});
    statement.out = product;
    return statement;
  }

  // `id` in a shape, by a view where it has another.
  TensorId in_shape(TensorId id, const Shape &shape, const std::string &origin,
                    std::vector<Statement> &statements) {
    if (result_[id].shape == shape)
      return id;
    const TensorId view = add_like(result_, id, shape);
    statements.push_back({view, View{id}, origin});
    return view;
  }

  // What waits, the last scale first.
  void settle(std::vector<Statement> &statements) {
    for (; !after_.empty(); after_.pop_back())
      statements.push_back(std::move(after_.back()));
  }

  Program result_;
  std::vector<int> readers_; // by tensor that was given
  std::map<TensorId, const Statement *> writers_;
  std::vector<Statement> after_;
};

} // namespace

Program defer_scales(Program program) { return Deferring(std::move(program)).run(); }

} // namespace tilefuse::program
