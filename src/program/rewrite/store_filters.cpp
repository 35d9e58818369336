// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/store_filters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

constexpr double kGain = 0.95; // of the time as it is, that a new copy must reach

// A dimension behind all others.
template <typename Each> void put_last(std::vector<Each> &dims, std::size_t dim) {
  const auto from = dims.begin() + static_cast<std::ptrdiff_t>(dim);
  std::rotate(from, from + 1, dims.end());
}

class Storing {
public:
  Storing(const Program &program, const Price &price) : result_(program), price_(price) {}

  Program run() {
    std::vector<Statement> before = std::move(result_.statements);
    for (Statement &statement : before) {
      if (const std::optional<TensorId> from = narrowed_input(statement))
        inputs_.emplace(statement.out, *from);
      if (const std::optional<std::size_t> filter = filter_of(statement))
        choose(statement, *filter);
      statements_.push_back(std::move(statement));
    }
    return with_statements(std::move(result_), std::move(statements_), true);
  }

private:
  // A filter with one of its dimensions put last.
  struct Order {
    TensorId filter{};
    std::size_t last = 0;
    friend auto operator<=>(const Order &, const Order &) = default;
  };

  const Tensor &tensor(TensorId id) const { return result_[id]; }
  static Contraction &product(Statement &statement) {
    return std::get<Contraction>(statement.body);
  }

  // The input that a statement rounds to the narrower type of its result.
  std::optional<TensorId> narrowed_input(const Statement &statement) const {
    const auto *map = std::get_if<Map>(&statement.body);
    if (map == nullptr || map->operands.size() != 1 ||
        map->expr != cast(operand(0, DType::F32), tensor(statement.out).type) ||
        tensor(map->operands[0]).role != Role::Input || tensor(map->operands[0]).type != DType::F32)
      return {};
    return map->operands[0];
  }

  // Whether it is what a caller gives, for matrix units as it is or narrowed.
  bool is_given(TensorId id) const {
    return inputs_.count(id) > 0 ||
           (result_.tf32 && tensor(id).role == Role::Input && tensor(id).type == DType::F32);
  }

  // Which operand of a product is one; nothing: none is.
  std::optional<std::size_t> filter_of(const Statement &statement) const {
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->agg != Agg::Sum || body->comb != Comb::Mul || body->init ||
        !body->constraints.empty())
      return {};
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const Access &filter = body->in[k], &data = body->in[1 - k];
      if (is_given(filter.tensor) && reads_elements(filter) && !is_given(data.tensor) &&
          tensor(data.tensor).type == tensor(filter.tensor).type &&
          tensor(data.tensor).role == Role::Temporary)
        return k;
    }
    return {};
  }

  // Whether each dimension of more than one element is read by an index alone.
  bool reads_elements(const Access &access) const {
    const Shape &shape = tensor(access.tensor).shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 1 && plain_index(access.subscripts[d]) < 0)
        return false;
    return true;
  }

  // The longest dimension that the product sums over.
  std::optional<std::size_t> summed(const Contraction &body, std::size_t filter) const {
    const Access &access = body.in[filter];
    const Shape &shape = tensor(access.tensor).shape;
    std::optional<std::size_t> longest;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const int index = plain_index(access.subscripts[d]);
      if (index >= 0 && shape[d] > 1 && !uses(body.out, index) &&
          uses(body.in[1 - filter].subscripts, index) && (!longest || shape[d] > shape[*longest]))
        longest = d;
    }
    return longest;
  }

  bool lies_last(const Shape &shape, std::size_t dim) const {
    return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, shape.end(),
                       [](std::int64_t size) { return size == 1; });
  }

  // As it is, from a copy that is there, or from one of its own.
  void choose(Statement &statement, std::size_t filter) {
    const TensorId from = product(statement).in[filter].tensor;
    const std::optional<std::size_t> own = summed(product(statement), filter);
    if (!own || lies_last(tensor(from).shape, *own))
      return;
    Statement best = statement;
    double least = price({statement});
    const auto consider = [&](const Statement &other, double seconds) {
      if (seconds >= least)
        return false;
      least = seconds;
      best = other;
      return true;
    };
    for (const auto &[order, copy] : copies_)
      if (order.filter == from) {
        const Statement other = reading(statement, filter, order.last, copy);
        consider(other, price({other}));
      }
    if (copies_.count({from, *own}) == 0) {
      std::vector<Statement> made = copy_of(from, *own, statement.origin);
      const TensorId copy = made.back().out;
      const Statement other = reading(statement, filter, *own, copy);
      std::vector<Statement> both = made;
      both.push_back(other);
      if (consider(other, price(std::move(both)) / kGain)) {
        copies_.emplace(Order{from, *own}, copy);
        std::move(made.begin(), made.end(), std::back_inserter(statements_));
      }
    }
    statement = std::move(best);
  }

  // Of what a caller gives, rounded where the tensor is.
  std::vector<Statement> copy_of(TensorId from, std::size_t last, const std::string &origin) {
    const auto narrowed = inputs_.find(from);
    const TensorId given = narrowed == inputs_.end() ? from : narrowed->second;
    Shape shape = tensor(from).shape;
    Contraction body{.agg = Agg::Assign};
    for (std::size_t d = 0; d < shape.size(); ++d)
      body.indices.push_back(fmt::format("d{}", d));
    for (std::size_t d = 0; d < shape.size(); ++d)
      body.out.push_back(index_form(static_cast<int>(d), shape.size()));
    body.in = {{given, body.out}};
    put_last(body.out, last);
    put_last(shape, last);
    std::vector<Statement> made = {{add_like(result_, given, shape), std::move(body), origin}};
    if (given != from)
      made.push_back({add_like(result_, from, shape),
                      Map{cast(operand(0, DType::F32), tensor(from).type), {made[0].out}}, origin});
    return made;
  }

  static Statement reading(Statement statement, std::size_t filter, std::size_t last,
                           TensorId copy) {
    Access &access = product(statement).in[filter];
    access.tensor = copy;
    put_last(access.subscripts, last);
    return statement;
  }

  // Of these statements, the last of which is a product.
  double price(std::vector<Statement> statements) const {
    Program program = result_;
    Contraction &last = product(statements.back());
    const auto put_channels_last = [&](TensorId id, std::vector<Affine> &subscripts) {
      if (at(id) >= first_copy_ || inputs_.count(id) > 0 || tensor(id).role != Role::Temporary ||
          subscripts.size() < 3)
        return;
      put_last(subscripts, 1);
      put_last(program[id].shape, 1);
    };
    for (Access &access : last.in)
      put_channels_last(access.tensor, access.subscripts);
    put_channels_last(statements.back().out, last.out);
    return price_(alone(std::move(program), std::move(statements)));
  }

  Program result_;
  const std::size_t first_copy_ = result_.tensors.size();
  const Price &price_;
  std::vector<Statement> statements_;
  std::map<TensorId, TensorId> inputs_; // that narrowed ones are of
  std::map<Order, TensorId> copies_;
};

} // namespace

Program store_filters(const Program &program, const Price &price) {
  return Storing(program, price).run();
}

} // namespace tilefuse::program
