// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/compose_maps.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/origin.h"
#include "program/rewrite/rewriter.h"
#include "program/rewrite/split_maps.h"
#include "program/rewrite/terms.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

constexpr int kMostSmallNodes = 200; // of the expression of a small map

bool contains(const Expr &expr, std::initializer_list<ScalarOp> ops) {
  if (expr.kind == Expr::Kind::Call && std::find(ops.begin(), ops.end(), expr.op) != ops.end())
    return true;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr &arg) { return contains(arg, ops); });
}

// Takes longer than a store and a load of its value.
bool is_costly(const Expr &expr) {
  return contains(expr, {ScalarOp::Log, ScalarOp::Tanh, ScalarOp::Erf, ScalarOp::Sin, ScalarOp::Cos,
                         ScalarOp::Pow});
}

class Composing {
public:
  explicit Composing(const Program &program) : result_(program) {}

  Program run() {
    find_readers();
    for (std::size_t s = 0; s < result_.statements.size(); ++s)
      if (std::holds_alternative<Map>(result_.statements[s].body))
        offer(s);
    std::vector<Statement> statements = result_.statements;
    return with_statements(std::move(result_), std::move(statements), true);
  }

private:
  using Place = std::size_t; // of a statement

  const Tensor &tensor(TensorId id) const { return result_[id]; }
  const Map &map_at(Place s) const { return std::get<Map>(result_.statements[s].body); }
  double bytes(TensorId id) const {
    return static_cast<double>(elems(tensor(id).shape)) *
           static_cast<double>(size_bytes(tensor(id).type));
  }

  void find_readers() {
    readers_.assign(result_.tensors.size(), {});
    writer_.assign(result_.tensors.size(), std::nullopt);
    is_output_.assign(result_.tensors.size(), false);
    for (Place s = 0; s < result_.statements.size(); ++s) {
      writer_[at(result_.statements[s].out)] = s;
      for (const TensorId id : reads(result_.statements[s]))
        add_reader(id, s);
    }
    for (const TensorId id : result_.outputs)
      is_output_[at(id)] = true;
  }

  void add_reader(TensorId id, Place s) {
    std::vector<Place> &readers = readers_[at(id)];
    if (std::find(readers.begin(), readers.end(), s) == readers.end())
      readers.push_back(s);
  }

  // Bytes that a reader reads more than before when it evaluates the map, but for the map's result.
  double new_bytes(const Map &map, Place reader) const {
    const std::vector<TensorId> already = reads(result_.statements[reader]);
    double sum = 0;
    for (std::size_t k = 0; k < map.operands.size(); ++k) {
      const TensorId id = map.operands[k];
      const bool is_first =
          std::find(map.operands.begin(), map.operands.begin() + static_cast<std::ptrdiff_t>(k),
                    id) == map.operands.begin() + static_cast<std::ptrdiff_t>(k);
      if (is_first && std::find(already.begin(), already.end(), id) == already.end())
        sum += bytes(id);
    }
    return sum;
  }

  // The contraction of which the map will be a post-op: it computes one of its operands.
  std::optional<Place> leader(Place s) const {
    const TensorId out = result_.statements[s].out;
    for (const TensorId id : map_at(s).operands) {
      const std::optional<Place> from = writer_[at(id)];
      if (from && readers_[at(id)].size() == 1 && tensor(id).shape == tensor(out).shape &&
          !is_output_[at(id)] &&
          std::holds_alternative<Contraction>(result_.statements[*from].body))
        return from;
    }
    return std::nullopt;
  }
  bool is_follower(Place s) const { return leader(s).has_value(); }

  // Whether it will be one of a sum that reads one tensor: `join_sums` makes it one with others, and
  // then it has no post-op.
  bool follows_sum(Place s) const {
    const std::optional<Place> from = leader(s);
    if (!from)
      return false;
    const auto &body = std::get<Contraction>(result_.statements[*from].body);
    return body.agg == Agg::Sum && body.comb != Comb::Pick &&
           std::all_of(body.in.begin(), body.in.end(), [&](const Access &access) {
             return access.tensor == body.in[0].tensor ||
                    (body.comb == Comb::Term && elems(tensor(access.tensor).shape) <= kSmallElems);
           });
  }

  // Bytes that a step saves when all readers evaluate the map and nobody stores it.
  double saved_by_all(Place s) const {
    const TensorId out = result_.statements[s].out;
    const std::vector<Place> &readers = readers_[at(out)];
    double saved = bytes(out) * static_cast<double>(readers.size());
    if (!is_follower(s)) {
      saved += bytes(out);
      for (const TensorId id : map_at(s).operands)
        saved += bytes(id);
    }
    for (const Place reader : readers)
      saved -= new_bytes(map_at(s), reader);
    return saved;
  }

  void offer(Place s) {
    const TensorId out = result_.statements[s].out;
    const std::vector<Place> readers = readers_[at(out)];
    const bool is_small = elems(tensor(out).shape) <= kSmallElems;
    const Expr &expr = map_at(s).expr;
    const bool has_exp = contains(expr, {ScalarOp::Exp});
    const bool is_cheap = is_small || !(is_costly(expr) || (has_exp && readers.size() > 2));
    if (readers.empty() || (readers.size() > 1 && (!is_cheap || (has_exp && is_follower(s)))))
      return;
    std::vector<Place> able;
    for (const Place reader : readers)
      if (can_evaluate(s, reader))
        able.push_back(reader);
    if (able.size() == readers.size() && !is_output_[at(out)] &&
        (is_small || saved_by_all(s) > 0)) {
      for (const Place reader : able)
        evaluate_in(s, reader);
      return;
    }
    if (!is_cheap || (is_follower(s) && !(is_small && follows_sum(s))))
      return;
    for (const Place reader : able)
      if (is_small || new_bytes(map_at(s), reader) == 0)
        evaluate_in(s, reader);
  }

  bool can_evaluate(Place s, Place reader) const {
    const Statement &statement = result_.statements[reader];
    const int nodes = count_nodes(map_at(s).expr);
    const bool is_small = elems(tensor(statement.out).shape) <= kSmallElems;
    const int most = is_small ? kMostSmallNodes : kMaxMapNodes;
    if (const auto *map = std::get_if<Map>(&statement.body))
      return tensor(statement.out).shape == tensor(result_.statements[s].out).shape &&
             count_nodes(map->expr) + nodes <= most;
    const auto *body = std::get_if<Contraction>(&statement.body);
    return body != nullptr && reads_floats(map_at(s)) &&
           reads_once(*body, statement.out, result_.statements[s].out) && spans(*body, s) &&
           count_nodes(body->term) + nodes <= kMaxMapNodes;
  }

  // Whether every index of the contraction is bounded by what it reads without the map.
  bool spans(const Contraction &body, Place s) const {
    const TensorId out = result_.statements[s].out;
    const auto is_spanned = [&](TensorId id) { return tensor(id).shape == tensor(out).shape; };
    return std::any_of(map_at(s).operands.begin(), map_at(s).operands.end(), is_spanned) ||
           std::any_of(body.in.begin(), body.in.end(), [&](const Access &access) {
             return access.tensor != out && is_whole(body, access);
           });
  }

  bool reads_floats(const Map &map) const {
    return std::all_of(map.operands.begin(), map.operands.end(),
                       [&](TensorId id) { return traits(tensor(id).type).value == DType::F32; });
  }

  // A reduction of floats over the map's elements, each of which is read at one point, whole.
  bool reads_once(const Contraction &body, TensorId out, TensorId map) const {
    const bool combines =
        body.comb == Comb::None || body.comb == Comb::Mul || body.comb == Comb::Term;
    if (!combines || body.agg == Agg::Assign || body.init || !body.constraints.empty() ||
        traits(tensor(out).type).value != DType::F32 || !is_float(tensor(map).type))
      return false;
    for (const Access &access : body.in) {
      if (traits(tensor(access.tensor).type).value != DType::F32)
        return false;
      const bool is_broadcast = body.comb == Comb::Term && access.tensor != map;
      if (!is_broadcast && !is_whole(body, access))
        return false;
    }
    return true;
  }

  static bool moves(const Affine &subscript) {
    return std::any_of(subscript.coeff.begin(), subscript.coeff.end(),
                       [](const Rational &factor) { return factor != Rational(0); });
  }

  // Subscripts are the indices in some order, but for those that stand still in dimensions of one
  // element, and so every element is read at one point.
  bool is_whole(const Contraction &body, const Access &access) const {
    const Shape &shape = tensor(access.tensor).shape;
    std::vector<Affine> moving;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1 || moves(access.subscripts[d]))
        moving.push_back(access.subscripts[d]);
    return moving.size() == body.indices.size() && names_every_index(moving, body.indices.size());
  }

  void evaluate_in(Place s, Place reader) {
    Statement &statement = result_.statements[reader];
    const Statement &from = result_.statements[s];
    if (std::holds_alternative<Map>(statement.body))
      evaluate_in_map(s, std::get<Map>(statement.body));
    else
      evaluate_in_term(s, std::get<Contraction>(statement.body));
    std::vector<Place> &readers = readers_[at(from.out)];
    std::erase(readers, reader);
    for (const TensorId id : map_at(s).operands)
      add_reader(id, reader);
    if (readers.empty() && !is_output_[at(from.out)])
      for (const TensorId id : map_at(s).operands)
        std::erase(readers_[at(id)], s);
    statement.origin = join_origins(from.origin, statement.origin);
  }

  void evaluate_in_map(Place s, Map &into) {
    TermReads all;
    const TensorId out = result_.statements[s].out;
    const Map &from = map_at(s);
    const auto own = [&](int k) { return Access{from.operands[at(k)], {}}; };
    const auto leaf = [&](const Access &access) {
      return operand(all.add(access), tensor(access.tensor).type);
    };
    const auto resolve = [&](const Expr &read) {
      const TensorId id = into.operands[at(read.operand)];
      return id == out ? substitute(from.expr, [&](const Expr &e) { return leaf(own(e.operand)); })
                       : leaf({id, {}});
    };
    into.expr = substitute(into.expr, resolve);
    into.operands.clear();
    for (const Access &access : all.accesses)
      into.operands.push_back(access.tensor);
  }

  void evaluate_in_term(Place s, Contraction &into) {
    into = as_term(std::move(into));
    TermReads all;
    const TensorId out = result_.statements[s].out;
    const Map &from = map_at(s);
    const auto resolve = [&](const Expr &read) {
      const Access &access = into.in[at(read.operand)];
      if (access.tensor != out)
        return operand(all.add(access), DType::F32);
      const auto leaf = [&](const Expr &e) {
        const TensorId id = from.operands[at(e.operand)];
        const Access own{
            id, broadcast_subscripts(tensor(id).shape, tensor(out).shape, access.subscripts)};
        return cast(operand(all.add(own), DType::F32), e.type);
      };
      return read_as(substitute(from.expr, leaf), DType::F32);
    };
    into.term = substitute(into.term, resolve);
    into.in = std::move(all.accesses);
  }

  Program result_;
  std::vector<std::vector<Place>> readers_; // by tensor
  std::vector<std::optional<Place>> writer_;
  std::vector<bool> is_output_;
};

} // namespace

Program compose_maps(const Program &program) { return Composing(program).run(); }

} // namespace tilefuse::program
