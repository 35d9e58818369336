// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/join_sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/host_tensor.h"
#include "program/rewrite/rewriter.h"
#include "program/rewrite/terms.h"
#include "program/storage/boxes.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

// A sum reads so many times more than it gives.
constexpr std::int64_t kReads = 16;

// A tensor that is a part of another: of `whole` at the first subscript `number`. The other
// dimensions of the whole are those of the part, in order, but that dimensions of one element may
// be missing or added.
struct Part {
  TensorId whole{};
  std::int64_t number = 0;
};

Affine constant_form(std::int64_t value, std::size_t indices) {
  return {std::vector<Rational>(indices), Rational(value)};
}

// The same form with an index before the others.
Affine shifted(const Affine &form, std::size_t indices) {
  Affine result = form;
  result.coeff.resize(indices);
  result.coeff.insert(result.coeff.begin(), Rational(0));
  return result;
}

std::vector<Affine> shifted(const std::vector<Affine> &forms, std::size_t indices) {
  std::vector<Affine> result;
  for (const Affine &form : forms)
    result.push_back(shifted(form, indices));
  return result;
}

class JoiningSums {
public:
  explicit JoiningSums(const Program &program) : result_(program) {}

  Program run() {
    const std::vector<Statement> given = std::move(result_.statements);
    result_.statements.clear();
    find_writers(given);
    std::vector<bool> is_joined(given.size(), false);
    for (std::size_t s = 0; s < given.size(); ++s) {
      if (is_joined[s])
        continue;
      const Statement statement = reading_parts(given[s]);
      const std::vector<std::size_t> others = like(given, s, statement);
      if (others.empty()) {
        add(statement);
        continue;
      }
      std::vector<Statement> sums = {statement};
      for (const std::size_t other : others) {
        sums.push_back(reading_parts(given[other]));
        is_joined[other] = true;
      }
      join(sums);
    }
    std::vector<Statement> statements = std::move(result_.statements);
    return with_statements(std::move(result_), std::move(statements), true);
  }

private:
  const Tensor &tensor(TensorId id) const { return result_[id]; }
  std::int64_t size(TensorId id) const { return elems(tensor(id).shape); }
  bool is_number(TensorId id) const { return traits(tensor(id).type).value == DType::F32; }

  void find_writers(const std::vector<Statement> &given) {
    written_.assign(result_.tensors.size(), 0);
    for (std::size_t s = 0; s < given.size(); ++s)
      written_[at(given[s].out)] = s + 1;
    is_output_.assign(result_.tensors.size(), false);
    for (const TensorId id : result_.outputs)
      is_output_[at(id)] = true;
  }

  // A sum of floats, each read at plain subscripts, that gives far less than it reads.
  const Contraction *as_sum(const Statement &statement) const {
    const auto *body = std::get_if<Contraction>(&statement.body);
    const bool is_sum =
        body != nullptr && body->agg == Agg::Sum && !body->init && body->constraints.empty() &&
        (body->comb == Comb::None || body->comb == Comb::Mul || body->comb == Comb::Term) &&
        tensor(statement.out).type == DType::F32;
    if (!is_sum)
      return nullptr;
    std::int64_t most = 0;
    for (const Access &access : body->in) {
      if (!is_number(access.tensor))
        return nullptr;
      if (names_every_index(access.subscripts, body->indices.size()))
        most = std::max(most, size(access.tensor));
    }
    return most >= kReads * size(statement.out) ? body : nullptr;
  }

  // Later sums over the points of `statement` that can be computed where it is.
  std::vector<std::size_t> like(const std::vector<Statement> &given, std::size_t place,
                                const Statement &statement) const {
    std::vector<std::size_t> found;
    const Contraction *body = as_sum(statement);
    if (body == nullptr)
      return found;
    const std::size_t end = std::min(given.size(), place + 1 + kLookedAt);
    for (std::size_t s = place + 1; s < end; ++s) {
      const Statement other = reading_parts(given[s]);
      const Contraction *next = as_sum(other);
      const bool is_ready = next != nullptr && std::all_of(next->in.begin(), next->in.end(),
                                                           [&](const Access &access) {
                                                             return is_known(access.tensor, place);
                                                           });
      if (is_ready && tensor(other.out).shape == tensor(statement.out).shape &&
          next->indices.size() == body->indices.size() && next->out == body->out &&
          (reads_the_same(*body, *next) || reads_next_part(*body, *next, found.size() + 1)))
        found.push_back(s);
    }
    return found;
  }

  bool is_known(TensorId id, std::size_t place) const {
    return at(id) >= written_.size() || written_[at(id)] <= place;
  }

  // The largest tensor that one of them reads, at the same subscripts.
  bool reads_the_same(const Contraction &a, const Contraction &b) const {
    std::int64_t most = 0, shared = 0;
    for (const Access &access : b.in) {
      most = std::max(most, size(access.tensor));
      for (const Access &other : a.in)
        if (access.tensor == other.tensor && access.subscripts == other.subscripts &&
            names_every_index(access.subscripts, a.indices.size()))
          shared = std::max(shared, size(access.tensor));
    }
    return shared > 0 && shared == most;
  }

  // Plain sums of the first and of part `number` of one tensor.
  static bool reads_next_part(const Contraction &first, const Contraction &next,
                              std::size_t number) {
    if (first.comb != Comb::None || next.comb != Comb::None ||
        first.in[0].tensor != next.in[0].tensor || first.in[0].subscripts.empty())
      return false;
    std::vector<Affine> expected = first.in[0].subscripts;
    const bool begins = expected[0] == constant_form(0, first.indices.size());
    expected[0].constant = Rational(static_cast<std::int64_t>(number));
    return begins && expected == next.in[0].subscripts;
  }

  void join(const std::vector<Statement> &sums) {
    const auto &first = std::get<Contraction>(sums[0].body);
    const std::size_t indices = first.indices.size();
    const auto count = static_cast<std::int64_t>(sums.size());
    Contraction body{.agg = Agg::Sum, .indices = first.indices, .out = shifted(first.out, indices)};
    body.indices.insert(body.indices.begin(), unused_name(first.indices));
    Affine number = constant_form(0, indices + 1);
    number.coeff[0] = Rational(1);
    body.out.insert(body.out.begin(), number);
    const auto &next = std::get<Contraction>(sums[1].body);
    if (reads_next_part(first, next, 1)) {
      body.in = {{first.in[0].tensor, shifted(first.in[0].subscripts, indices)}};
      body.in[0].subscripts[0] = number;
    } else {
      select_terms(sums, number, body);
    }
    Shape shape = tensor(sums[0].out).shape;
    shape.insert(shape.begin(), count);
    const TensorId whole = result_.add(
        {.name = tensor(sums[0].out).name, .type = DType::F32, .shape = std::move(shape)});
    add({whole, std::move(body), sums[0].origin});
    for (std::int64_t k = 0; k < count; ++k)
      define_part(sums[at(k)].out, {whole, k}, sums[at(k)].origin);
  }

  static std::string unused_name(const std::vector<std::string> &names) {
    std::string name = "k";
    while (std::find(names.begin(), names.end(), name) != names.end())
      name += "k";
    return name;
  }

  // The term of each sum where the first index has its number.
  void select_terms(const std::vector<Statement> &sums, const Affine &number, Contraction &body) {
    TermReads reads;
    const Expr k = operand(reads.add({numbers(sums.size()), {number}}), DType::F32);
    body.comb = Comb::Term;
    for (std::size_t s = sums.size(); s-- > 0;) {
      const Contraction each = as_term(std::get<Contraction>(sums[s].body));
      const Expr term = substitute(each.term, [&](const Expr &leaf) {
        Access access = each.in[at(leaf.operand)];
        access.subscripts = shifted(access.subscripts, each.indices.size());
        return operand(reads.add(access), DType::F32);
      });
      const Expr is_own = call(ScalarOp::Eq, {k, constant(static_cast<double>(s), DType::F32)});
      body.term = s + 1 == sums.size() ? term : call(ScalarOp::Select, {is_own, term, body.term});
    }
    body.in = std::move(reads.accesses);
  }

  // The constant 0, 1, 2, …
  TensorId numbers(std::size_t count) {
    const auto found = numbers_.find(count);
    if (found != numbers_.end())
      return found->second;
    HostTensor values = make_host_tensor("numbers", DType::F32, {static_cast<std::int64_t>(count)});
    for (std::size_t i = 0; i < count; ++i)
      set(values, static_cast<std::int64_t>(i), static_cast<double>(i));
    return numbers_[count] = result_.add({"numbers", DType::F32, values.shape, Role::Constant,
                                          std::make_shared<const Bytes>(std::move(values.data))});
  }

  void define_part(TensorId id, const Part &part, const std::string &origin) {
    parts_.emplace(id, part);
    if (is_output_[at(id)])
      copy_out(id, origin);
  }

  // A statement of its own for a part that somebody reads whole.
  void copy_out(TensorId id, const std::string &origin) {
    if (!copied_.insert(id).second)
      return;
    const std::size_t rank = tensor(id).shape.size();
    Contraction body = identity(id, rank);
    body.in[0] = read_part(body.in[0], rank);
    result_.statements.push_back({id, std::move(body), origin});
  }

  // An access to a part as one to the whole.
  Access read_part(const Access &access, std::size_t indices) const {
    const Part &part = parts_.at(access.tensor);
    const Shape &own = tensor(access.tensor).shape;
    const Shape &whole = tensor(part.whole).shape;
    Access result{part.whole, {constant_form(part.number, indices)}};
    std::size_t d = 0;
    for (std::size_t w = 1; w < whole.size(); ++w) {
      while (whole[w] != 1 && own[d] == 1)
        ++d;
      result.subscripts.push_back(whole[w] == 1 ? constant_form(0, indices)
                                                : access.subscripts[d++]);
    }
    return result;
  }

  bool is_part(TensorId id) const { return parts_.count(id) > 0; }

  void add(Statement statement) {
    if (const auto *view = std::get_if<View>(&statement.body);
        view != nullptr && is_part(view->in) && keeps_dims(statement.out, view->in))
      return define_part(statement.out, parts_.at(view->in), statement.origin);
    for (const TensorId id : reads(statement))
      if (is_part(id))
        copy_out(id, statement.origin);
    result_.statements.push_back(std::move(statement));
  }

  // Whether two shapes are the same but for dimensions of one element.
  bool keeps_dims(TensorId a, TensorId b) const {
    Shape left = tensor(a).shape, right = tensor(b).shape;
    std::erase(left, 1);
    std::erase(right, 1);
    return left == right;
  }

  // The statement with parts read in their wholes, where it can.
  Statement reading_parts(const Statement &given) const {
    const std::vector<TensorId> ids = reads(given);
    if (std::none_of(ids.begin(), ids.end(), [&](TensorId id) { return is_part(id); }))
      return given;
    Statement statement = given;
    if (const auto *map = std::get_if<Map>(&given.body); map != nullptr && fits_term(given, *map))
      statement.body = as_assignment(tensor(given.out).shape, *map);
    if (auto *body = std::get_if<Contraction>(&statement.body))
      for (Access &access : body->in)
        if (is_part(access.tensor))
          access = read_part(access, body->indices.size());
    return statement;
  }

  bool fits_term(const Statement &statement, const Map &map) const {
    return size(statement.out) <= kSmallElems && is_number(statement.out) &&
           std::all_of(map.operands.begin(), map.operands.end(),
                       [&](TensorId id) { return is_number(id); });
  }

  // A map as the assignment of a term.
  Contraction as_assignment(const Shape &shape, const Map &map) const {
    Contraction body = identity(TensorId{}, shape.size());
    TermReads reads;
    body.term =
        read_as(substitute(map.expr,
                           [&](const Expr &leaf) {
                             const TensorId id = map.operands[at(leaf.operand)];
                             const int k = reads.add(
                                 {id, broadcast_subscripts(tensor(id).shape, shape, body.out)});
                             return cast(operand(k, DType::F32), leaf.type);
                           }),
                DType::F32);
    body.comb = Comb::Term;
    body.in = std::move(reads.accesses);
    return body;
  }

  static constexpr std::size_t kLookedAt = 8; // statements behind a sum

  Program result_;
  std::vector<std::size_t> written_; // by tensor: the statement's number from 1; 0: by none
  std::vector<bool> is_output_;
  std::map<TensorId, Part> parts_;
  std::set<TensorId> copied_;
  std::map<std::size_t, TensorId> numbers_; // by count
};

} // namespace

Program join_sums(const Program &program) { return JoiningSums(program).run(); }

} // namespace tilefuse::program
