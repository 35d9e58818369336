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

  // Which operand of a product is one; nothing: none is.
  std::optional<std::size_t> filter_of(const Statement &statement) const {
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->agg != Agg::Sum || body->comb != Comb::Mul || body->init ||
        !body->constraints.empty())
      return {};
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const Access &filter = body->in[k], &data = body->in[1 - k];
      if (tensor(filter.tensor).role == Role::Input && reads_elements(filter) &&
          tensor(filter.tensor).type == DType::F32 && tensor(data.tensor).type == DType::F32 &&
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
      const Statement made = copy_of(from, *own, statement.origin);
      const Statement other = reading(statement, filter, *own, made.out);
      if (consider(other, price({made, other}) / kGain)) {
        copies_.emplace(Order{from, *own}, made.out);
        statements_.push_back(made);
      }
    }
    statement = std::move(best);
  }

  Statement copy_of(TensorId from, std::size_t last, const std::string &origin) {
    Shape shape = tensor(from).shape;
    Contraction body{.agg = Agg::Assign};
    for (std::size_t d = 0; d < shape.size(); ++d)
      body.indices.push_back(fmt::format("d{}", d));
    for (std::size_t d = 0; d < shape.size(); ++d)
      body.out.push_back(index_form(static_cast<int>(d), shape.size()));
    body.in = {{from, body.out}};
    put_last(body.out, last);
    put_last(shape, last);
    return {add_like(result_, from, shape), std::move(body), origin};
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
      if (at(id) >= first_copy_ || tensor(id).role != Role::Temporary || subscripts.size() < 3)
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
  std::map<Order, TensorId> copies_;
};

} // namespace

Program store_filters(const Program &program, const Price &price) {
  return program.tf32 ? Storing(program, price).run() : program;
}

} // namespace tilefuse::program
