// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/sum_winners.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/readers.h"
#include "program/rewrite/rewriter.h"
#include "program/rewrite/terms.h"

namespace tilefuse::program {
namespace {

// Whether the expression of a sum of values of operand k is the sum of theirs.
bool is_linear(const Expr &expr, int k) {
  if (expr.kind == Expr::Kind::Operand)
    return expr.operand == k;
  if (expr.kind != Expr::Kind::Call)
    return false;
  const std::vector<Expr> &args = expr.args;
  if (expr.op == ScalarOp::Select)
    return !reads_operand(args[0], k) && is_linear(args[1], k) && is_linear(args[2], k);
  if (expr.op == ScalarOp::Mul)
    return (is_linear(args[0], k) && !reads_operand(args[1], k)) ||
           (!reads_operand(args[0], k) && is_linear(args[1], k));
  return expr.op == ScalarOp::Neg && is_linear(args[0], k);
}

// What goes to winners: by dimension, whether an element's place is that of the result that gives.
struct Given {
  const Contraction *body = nullptr;
  TensorId out{};
  std::vector<bool> is_kept;
  const Access &winner() const { return body->in[0]; }
  const Access &share() const { return body->in[2]; }
};

class Summing {
public:
  explicit Summing(const Program &program) : result_(program), readers_(readers_of(program)) {}

  Program run(const Program &program) {
    std::vector<std::vector<Statement>> all; // by statement, what stands in its place
    for (const Statement &statement : program.statements)
      all.push_back({statement});
    for (const Statement &statement : program.statements)
      if (const Given given = given_by(statement); given.body != nullptr)
        for (const std::size_t s : sums_of(program, given))
          all[s] = over_winners(given, program.statements[s]);
    std::vector<Statement> statements;
    for (std::vector<Statement> &each : all)
      std::move(each.begin(), each.end(), std::back_inserter(statements));
    return with_statements(std::move(result_), std::move(statements), true);
  }

private:
  const Shape &shape(TensorId id) const { return result_[id].shape; }

  // Nothing where a statement is no such gradient of fewer results than elements.
  Given given_by(const Statement &statement) const {
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->agg != Agg::Sum || body->comb != Comb::Select || body->init ||
        body->in[0].subscripts != body->in[2].subscripts || !is_plain(body->in[2].subscripts) ||
        elems(shape(body->in[2].tensor)) >= elems(shape(statement.out)) ||
        body->in[2].subscripts.size() != body->out.size())
      return {};
    Given given{body, statement.out, {}};
    for (std::size_t d = 0; d < body->out.size(); ++d)
      given.is_kept.push_back(body->out[d] == body->in[2].subscripts[d]);
    return given;
  }

  // The sums among its readers, where a map is the only other.
  std::vector<std::size_t> sums_of(const Program &program, const Given &given) const {
    std::vector<std::size_t> sums;
    int maps = 0;
    for (const std::size_t s : readers_[at(given.out)]) {
      if (s == program.statements.size())
        return {};
      const Statement &reader = program.statements[s];
      if (can_add_up(reader, given))
        sums.push_back(s);
      else
        maps += std::holds_alternative<Map>(reader.body) && shape(reader.out) == shape(given.out);
    }
    const bool are_all = maps == 1 && sums.size() + 1 == readers_[at(given.out)].size();
    return are_all ? sums : std::vector<std::size_t>();
  }

  // Whether the statement adds up what is given, with what it reads at the same places or at kept
  // dimensions alone.
  bool can_add_up(const Statement &statement, const Given &given) const {
    const auto *body = std::get_if<Contraction>(&statement.body);
    const bool is_sum =
        body != nullptr && body->agg == Agg::Sum && !body->init && body->constraints.empty() &&
        (body->comb == Comb::None || body->comb == Comb::Mul || body->comb == Comb::Term);
    if (!is_sum)
      return false;
    const Contraction sum = as_term(*body);
    const auto own = std::find_if(sum.in.begin(), sum.in.end(),
                                  [&](const Access &access) { return access.tensor == given.out; });
    const std::vector<Affine> &places = own->subscripts;
    if (!is_plain(places) || !is_linear(sum.term, static_cast<int>(own - sum.in.begin())))
      return false;
    const auto stays = [&](const std::vector<Affine> &subscripts) {
      for (std::size_t d = 0; d < places.size(); ++d)
        if (!given.is_kept[d] && uses(subscripts, plain_index(places[d])))
          return false;
      return true;
    };
    return stays(sum.out) && std::all_of(sum.in.begin(), sum.in.end(), [&](const Access &access) {
             return access.tensor == given.out
                        ? access.subscripts == places
                        : stays(access.subscripts) || is_beside(access, places, given);
           });
  }

  // Of one element for each that is given, at its place.
  bool is_beside(const Access &access, const std::vector<Affine> &places,
                 const Given &given) const {
    return access.subscripts == places && shape(access.tensor) == shape(given.out) &&
           is_float(result_[access.tensor].type);
  }

  // The sum over results that give, behind what their winners are of the tensors beside.
  std::vector<Statement> over_winners(const Given &given, const Statement &statement) {
    std::vector<Statement> made;
    auto sum = std::get<Contraction>(statement.body);
    const auto own = std::find_if(sum.in.begin(), sum.in.end(),
                                  [&](const Access &access) { return access.tensor == given.out; });
    const std::vector<Affine> places = own->subscripts;
    for (Access &access : sum.in)
      if (access.tensor == given.out) {
        access.tensor = given.share().tensor;
      } else if (is_beside(access, places, given)) {
        Contraction won = *given.body;
        won.in[2] = {access.tensor, given.body->out};
        won.out = given.share().subscripts;
        const TensorId values = add_like(result_, access.tensor, shape(given.share().tensor));
        made.push_back({values, std::move(won), statement.origin});
        access.tensor = values;
      }
    made.push_back({statement.out, std::move(sum), statement.origin});
    return made;
  }

  Program result_;
  std::vector<std::vector<std::size_t>> readers_;
};

} // namespace

Program sum_winners(const Program &program) { return Summing(program).run(program); }

} // namespace tilefuse::program
