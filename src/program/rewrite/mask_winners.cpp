// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/mask_winners.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/readers.h"
#include "program/rewrite/rewriter.h"
#include "program/rewrite/terms.h"

namespace tilefuse::program {
namespace {

bool reads_only(const Expr &expr, int operand) {
  if (expr.kind == Expr::Kind::Operand)
    return expr.operand == operand;
  return std::all_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr &arg) { return reads_only(arg, operand); });
}

bool is_zero(const Expr &expr) { return expr.kind == Expr::Kind::Const && expr.value == 0; }

// Above 0, which stands for no winner, and no two alike.
bool are_ranks(const Tensor &tensor) {
  if (tensor.role != Role::Constant || tensor.data == nullptr)
    return false;
  std::set<double> values;
  for (std::int64_t i = 0; i < elems(tensor.shape); ++i) {
    const double value = load_element(tensor.data->data(), tensor.type, i);
    if (value <= 0 || !values.insert(value).second)
      return false;
  }
  return true;
}

bool have_same_points(const Contraction &a, const Contraction &b) {
  return a.indices.size() == b.indices.size() &&
         std::equal(a.constraints.begin(), a.constraints.end(), b.constraints.begin(),
                    b.constraints.end(), [](const Constraint &x, const Constraint &y) {
                      return x.expr == y.expr && x.bound == y.bound;
                    });
}

// The operand that a map gives, or 0 as a condition on its other operand says.
std::optional<int> masked_operand(const Map &map) {
  const Expr &expr = map.expr;
  if (map.operands.size() != 2 || expr.kind != Expr::Kind::Call || expr.op != ScalarOp::Select)
    return std::nullopt;
  const Expr &kept = is_zero(expr.args[2]) ? expr.args[1] : expr.args[2];
  const bool drops = is_zero(expr.args[1]) || is_zero(expr.args[2]);
  if (!drops || kept.kind != Expr::Kind::Operand || !reads_only(expr.args[0], 1 - kept.operand))
    return std::nullopt;
  return kept.operand;
}

class Masking {
public:
  explicit Masking(Program program)
      : result_(std::move(program)), readers_(count_readers(result_)),
        given_(std::exchange(result_.statements, {})), writer_(result_.tensors.size(), nullptr) {
    for (const Statement &statement : given_)
      writer_[at(statement.out)] = &statement;
  }

  Program run() {
    for (const Statement &statement : given_)
      find(statement);
    if (masks_.empty())
      return with_statements(std::move(result_), std::move(given_), true);
    std::vector<Statement> statements;
    for (const Statement &statement : given_)
      if (const auto mask = masks_.find(statement.out); mask != masks_.end())
        add_masked(statement, *mask->second, statements);
      else if (!is_moved(statement))
        statements.push_back(statement);
    return with_statements(std::move(result_), std::move(statements), true);
  }

private:
  const Contraction *written_by(TensorId id, Agg agg) const {
    const Statement *statement = writer_[at(id)];
    const auto *body = statement == nullptr ? nullptr : std::get_if<Contraction>(&statement->body);
    const bool is_it =
        body != nullptr && body->agg == agg && body->comb == Comb::Select && !body->init;
    return is_it ? body : nullptr;
  }

  // The maximum's result, where a contraction gives to winners among the elements of `of`.
  std::optional<TensorId> maximum(const Contraction &given, TensorId of) const {
    const Contraction *won = written_by(given.in[0].tensor, Agg::Max);
    if (won == nullptr || won->in[0].tensor != of || won->in[2].tensor != given.in[1].tensor)
      return std::nullopt;
    const std::vector<Affine> &out = won->out, &rank = given.in[1].subscripts;
    std::vector<Affine> all = out;
    all.insert(all.end(), rank.begin(), rank.end());
    const bool is_alike = have_same_points(*won, given) && won->in[0].subscripts == given.out &&
                          won->in[1].subscripts == out && won->in[2].subscripts == rank &&
                          given.in[0].subscripts == out && given.in[2].subscripts == out;
    const bool is_single =
        names_every_index(all, given.indices.size()) && are_ranks(result_[given.in[1].tensor]);
    return is_alike && is_single ? std::optional(won->in[1].tensor) : std::nullopt;
  }

  void find(const Statement &statement) {
    const auto *map = std::get_if<Map>(&statement.body);
    const std::optional<int> kept = map == nullptr ? std::nullopt : masked_operand(*map);
    if (!kept)
      return;
    const TensorId whole = map->operands[at(*kept)], of = map->operands[at(1 - *kept)];
    const Contraction *given = written_by(whole, Agg::Sum);
    if (given == nullptr || readers_[at(whole)] != 1)
      return;
    const std::optional<TensorId> most = maximum(*given, of);
    if (most && is_worth_it(statement.out, of, *most, given->in[2].tensor))
      masks_[whole] = &statement;
  }

  // One type throughout, and fewer results than elements.
  bool is_worth_it(TensorId out, TensorId of, TensorId most, TensorId gradient) const {
    return result_[most].type == result_[of].type && result_[gradient].type == result_[out].type &&
           result_[most].shape == result_[gradient].shape &&
           elems(result_[most].shape) < elems(result_[of].shape);
  }

  bool is_moved(const Statement &statement) const {
    return std::any_of(masks_.begin(), masks_.end(),
                       [&](const auto &mask) { return mask.second->out == statement.out; });
  }

  void add_masked(const Statement &statement, const Statement &mask,
                  std::vector<Statement> &statements) {
    auto given = std::get<Contraction>(statement.body);
    Map map = std::get<Map>(mask.body);
    const int kept = masked_operand(map).value();
    const TensorId most = maximum(given, map.operands[at(1 - kept)]).value();
    TensorId &gradient = given.in[2].tensor;
    map.operands[at(kept)] = gradient;
    map.operands[at(1 - kept)] = most;
    const TensorId masked = add_like(result_, gradient, result_[gradient].shape);
    gradient = masked;
    statements.push_back({masked, std::move(map), mask.origin});
    statements.push_back({mask.out, std::move(given), statement.origin});
  }

  Program result_;
  std::vector<int> readers_; // by tensor
  std::vector<Statement> given_;
  std::vector<const Statement *> writer_;       // by tensor
  std::map<TensorId, const Statement *> masks_; // by what they mask
};

} // namespace

Program mask_winners(Program program) { return Masking(std::move(program)).run(); }

} // namespace tilefuse::program
