// SPDX-License-Identifier: Apache-2.0
#include "program/precision/precision_choice.h"

#include <algorithm>
#include <cmath>

#include "base/disjoint_sets.h"
#include "base/words.h"

#include "base/index.h"

namespace tilefuse::program {
namespace {

constexpr double kMostHalf = 65504;
// Of a tensor that has so many times fewer elements than those it is computed of, or joined with, the
// type matters to sums and coefficients but not to traffic.
constexpr std::int64_t kSmaller = 16;
constexpr auto kReasons =
    words<Keeps>({{Keeps::Nothing, ""},
                  {Keeps::OtherType, "of another type"},
                  {Keeps::Output, "an output"},
                  {Keeps::Statistic, "a statistic: a sum or product of one operand"},
                  {Keeps::Between, "between the statistics of a normalisation"},
                  {Keeps::Small, "small beside what it is computed of or joined with"},
                  {Keeps::Range, "a weight beyond the type's range"}});

const Contraction *reduction_of_one(const Statement &statement) {
  const auto *body = std::get_if<Contraction>(&statement.body);
  return body != nullptr && body->comb == Comb::None && body->agg != Agg::Assign ? body : nullptr;
}

bool is_statistic(const Statement &statement) {
  const Contraction *body = reduction_of_one(statement);
  return body != nullptr && (body->agg == Agg::Sum || body->agg == Agg::Product);
}

// A maximum or minimum: a value that was stored already.
bool is_extremum(const Statement &statement) {
  const auto *body = std::get_if<Contraction>(&statement.body);
  return body != nullptr && (body->agg == Agg::Max || body->agg == Agg::Min);
}

// A sum of products: what matrix instructions compute, of narrow operands.
const Contraction *sum_of_products(const Statement &statement) {
  const auto *body = std::get_if<Contraction>(&statement.body);
  return body != nullptr && body->comb == Comb::Mul && body->agg == Agg::Sum ? body : nullptr;
}

// The value grows faster than its operands: squares, powers, exponentials.
bool grows(const Expr &expr) {
  if (expr.kind == Expr::Kind::Call) {
    if (expr.op == ScalarOp::Exp || expr.op == ScalarOp::Pow)
      return true;
    if (expr.op == ScalarOp::Mul && expr.args[0] == expr.args[1])
      return true;
  }
  return std::any_of(expr.args.begin(), expr.args.end(), grows);
}

bool is_comparison(ScalarOp op) {
  return op == ScalarOp::Lt || op == ScalarOp::Le || op == ScalarOp::Gt || op == ScalarOp::Ge ||
         op == ScalarOp::Eq || op == ScalarOp::Ne;
}

// Whether the value of an operand goes into that of the expression, not only a comparison with it.
bool passes_on(const Expr &expr, int operand) {
  if (expr.kind == Expr::Kind::Operand)
    return expr.operand == operand;
  if (expr.kind == Expr::Kind::Call && is_comparison(expr.op))
    return false;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr &arg) { return passes_on(arg, operand); });
}

// What a map or a view makes its result of. A mask is not part of it: in training the activations
// of a layer decide which gradients pass.
std::vector<TensorId> passed_on(const Statement &statement) {
  if (const auto *view = std::get_if<View>(&statement.body))
    return {view->in};
  std::vector<TensorId> found;
  if (const auto *map = std::get_if<Map>(&statement.body))
    for (std::size_t k = 0; k < map->operands.size(); ++k)
      if (passes_on(map->expr, static_cast<int>(k)))
        found.push_back(map->operands[k]);
  return found;
}

class Choosing {
public:
  explicit Choosing(const Program &program)
      : program_(program), keeps_(program.tensors.size(), Keeps::Nothing),
        sets_(program.tensors.size()) {}

  std::vector<Keeps> run() {
    for (const Statement &statement : program_.statements)
      join_memory(statement);
    for (std::size_t t = 0; t < keeps_.size(); ++t)
      if (program_.tensors[t].type != DType::F32)
        keep(t, Keeps::OtherType);
    keep_statistics();
    keep_outputs();
    keep_small();
    for (std::size_t t = 0; t < keeps_.size(); ++t)
      keeps_[t] = keeps_[root(t)];
    return std::move(keeps_);
  }

private:
  std::size_t root(std::size_t t) const { return sets_.root(t); }
  void join(TensorId a, TensorId b) {
    if (program_[a].role == Role::Temporary && program_[b].role == Role::Temporary &&
        program_[a].type == program_[b].type)
      sets_.join(at(a), at(b));
  }
  // The first reason stays.
  void keep(std::size_t t, Keeps why) {
    Keeps &keeps = keeps_[root(t)];
    if (keeps == Keeps::Nothing)
      keeps = why;
  }

  void join_memory(const Statement &statement) {
    if (const auto *view = std::get_if<View>(&statement.body))
      join(view->in, statement.out);
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body != nullptr && body->init)
      join(*body->init, statement.out);
    if (body != nullptr && body->agg == Agg::Assign && body->comb == Comb::None)
      join(body->in[0].tensor, statement.out);
  }

  // Statistics, and maps between two of them, or whose growing values only a statistic reads. What a
  // sum of products reads is an activation, though a pooling of it is a sum, and so is a pooling
  // that it reads itself, if it is a sum of few: one of many may leave the range of half precision.
  void keep_statistics() {
    const std::vector<bool> behind = spread_forwards();
    const std::vector<bool> before = spread_backwards();
    const std::vector<bool> is_operand = find_operands();
    for (const Statement &statement : program_.statements) {
      const std::size_t out = at(statement.out);
      if (is_statistic(statement) && !(is_operand[root(out)] && sums_few(statement)))
        keep(out, Keeps::Statistic);
      const auto *map = std::get_if<Map>(&statement.body);
      if (map != nullptr && before[out] &&
          ((behind[out] && !is_operand[root(out)]) || grows(map->expr)))
        keep(out, Keeps::Between);
    }
  }

  // Computed by maps and views from a reduction of one operand.
  std::vector<bool> spread_forwards() const {
    std::vector<bool> behind(keeps_.size(), false);
    for (const Statement &statement : program_.statements) {
      const std::vector<TensorId> ids = passed_on(statement);
      const bool passes =
          std::any_of(ids.begin(), ids.end(), [&](TensorId id) { return behind[at(id)]; });
      behind[at(statement.out)] = passes || reduction_of_one(statement) != nullptr;
    }
    return behind;
  }

  // Read by a statistic, through maps and views or at once.
  std::vector<bool> spread_backwards() const {
    std::vector<bool> before(keeps_.size(), false);
    for (auto s = program_.statements.rbegin(); s != program_.statements.rend(); ++s) {
      if (is_statistic(*s))
        for (const TensorId id : reads(*s))
          before[at(id)] = true;
      if (before[at(s->out)])
        for (const TensorId id : passed_on(*s))
          before[at(id)] = true;
    }
    return before;
  }

  // Roots of what sums of products read.
  std::vector<bool> find_operands() const {
    std::vector<bool> is_operand(keeps_.size(), false);
    for (const Statement &statement : program_.statements)
      if (sum_of_products(statement) != nullptr)
        for (const TensorId id : reads(statement))
          is_operand[root(at(id))] = true;
    return is_operand;
  }

  // Sums of products over much (a gradient by a scale), vectors (its means and variances), and what
  // is spread over a larger tensor (coefficients), unless a matrix instruction is to read it.
  void keep_small() {
    const std::vector<bool> is_operand = spread_operands();
    const std::vector<bool> is_spread = find_spread();
    for (const Statement &statement : program_.statements) {
      const std::size_t out = at(statement.out);
      if (!is_operand[root(out)] && !is_extremum(statement) &&
          (is_vector(statement.out) || sums_much(statement) || is_spread[out]))
        keep(out, Keeps::Small);
    }
  }

  std::int64_t size(TensorId id) const { return elems(program_[id].shape); }
  // At most one dimension is above 1.
  bool is_vector(TensorId id) const {
    const Shape &shape = program_[id].shape;
    return std::count_if(shape.begin(), shape.end(), [](std::int64_t dim) { return dim > 1; }) <= 1;
  }
  bool sums_few(const Statement &statement) const {
    const TensorId summed = std::get<Contraction>(statement.body).in[0].tensor;
    return size(summed) < kSmaller * size(statement.out);
  }
  bool sums_much(const Statement &statement) const {
    const Contraction *body = sum_of_products(statement);
    return body != nullptr &&
           std::all_of(body->in.begin(), body->in.end(), [&](const Access &access) {
             return size(access.tensor) >= kSmaller * size(statement.out);
           });
  }

  // Read by statements whose results are much larger, and by no others; a piece of a concatenation
  // as the whole is.
  std::vector<bool> find_spread() const {
    std::vector<bool> is_spread(keeps_.size(), false), is_read(keeps_.size(), false);
    for (auto s = program_.statements.rbegin(); s != program_.statements.rend(); ++s)
      for (const TensorId id : reads(*s)) {
        const bool is_same =
            std::holds_alternative<View>(s->body) || root(at(id)) == root(at(s->out));
        const bool is_wider = size(s->out) >= kSmaller * size(id);
        const bool here = is_same ? is_spread[at(s->out)] : is_wider;
        is_spread[at(id)] = here && (is_spread[at(id)] || !is_read[at(id)]);
        is_read[at(id)] = true;
      }
    return is_spread;
  }

  // Roots of what sums of products read, at once or through maps of its own size.
  std::vector<bool> spread_operands() const {
    std::vector<bool> is_operand = find_operands();
    for (auto s = program_.statements.rbegin(); s != program_.statements.rend(); ++s)
      if (std::holds_alternative<Map>(s->body) && is_operand[root(at(s->out))])
        for (const TensorId id : reads(*s))
          if (size(id) == size(s->out))
            is_operand[root(at(id))] = true;
    return is_operand;
  }

  // An output that nothing else reads is written in f32 at once.
  void keep_outputs() {
    std::vector<bool> is_read(keeps_.size(), false);
    for (const Statement &statement : program_.statements)
      for (const TensorId id : reads(statement))
        if (root(at(id)) != root(at(statement.out)))
          is_read[root(at(id))] = true;
    for (const TensorId id : program_.outputs)
      if (!is_read[root(at(id))])
        keep(at(id), Keeps::Output);
  }

  const Program &program_;
  std::vector<Keeps> keeps_; // of roots, while choosing
  DisjointSets sets_;
};

} // namespace

std::string_view reason(Keeps keeps) { return kReasons[keeps]; }

std::vector<Keeps> choose_kept(const Program &program) { return Choosing(program).run(); }

bool fits(const Tensor &constant, DType type) {
  if (type != DType::F16)
    return true;
  const std::int64_t count = elems(constant.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = load_element(constant.data->data(), constant.type, i);
    if (std::isfinite(value) && std::abs(value) > kMostHalf)
      return false;
  }
  return true;
}

} // namespace tilefuse::program
