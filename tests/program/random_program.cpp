// SPDX-License-Identifier: Apache-2.0
#include "program/random_program.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include "base/index.h"

namespace tilefuse::program::testing {
namespace {

std::int64_t draw(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high + 1); }

bool chance(int percent) { return draw(1, 100) <= percent; }

class Generator {
public:
  Program make() {
    program_.name = "random";
    for (std::int64_t i = draw(1, 3); i > 0; --i)
      add_input();
    for (std::int64_t i = draw(1, 5); i > 0; --i)
      add_statement();
    program_.outputs.push_back(pool_.back());
    if (chance(40))
      program_.outputs.push_back(any());
    verify(program_);
    return std::move(program_);
  }

private:
  TensorId any() { return pool_[at(draw(0, std::ssize(pool_) - 1))]; }
  const Shape &shape(TensorId id) const { return program_[id].shape; }

  void add_input() {
    Shape sizes;
    for (std::int64_t d = draw(0, 2); d >= 0; --d)
      sizes.push_back(draw(1, 5));
    input(std::move(sizes));
  }

  TensorId input(Shape sizes) {
    const TensorId id = program_.add({.name = fmt::format("x{}", program_.inputs.size()),
                                      .shape = std::move(sizes),
                                      .role = Role::Input});
    program_.inputs.push_back(id);
    pool_.push_back(id);
    return id;
  }

  void emit(Shape sizes, std::variant<Contraction, Map, View> body) {
    const TensorId out = program_.add({.name = "t", .shape = std::move(sizes)});
    program_.statements.push_back({out, std::move(body), ""});
    pool_.push_back(out);
  }

  void add_statement() {
    switch (draw(0, 4)) {
    case 0:
      return add_map();
    case 1:
      return emit({elems(shape(pool_.back()))}, View{pool_.back()});
    default:
      return add_contraction();
    }
  }

  // A bounded function of a tensor and one that broadcasts to it.
  void add_map() {
    const TensorId x = any();
    Shape small = shape(x);
    for (std::int64_t &size : small)
      size = chance(50) ? 1 : size;
    const TensorId b = chance(30) ? x : input(std::move(small));
    const Expr u = operand(0, DType::F32);
    const Expr v = operand(1, DType::F32);
    const auto unary = [](ScalarOp op, Expr arg) { return call(op, {std::move(arg)}); };
    const Expr options[] = {
        call(ScalarOp::Sub, {u, v}),
        call(ScalarOp::Mul, {unary(ScalarOp::Tanh, u), v}),
        call(ScalarOp::Max, {u, v}),
        call(ScalarOp::Max, {u, constant(0, DType::F32)}),
        call(ScalarOp::Select, {call(ScalarOp::Lt, {u, v}), unary(ScalarOp::Sin, u), v}),
        call(ScalarOp::Div,
             {u, call(ScalarOp::Add, {unary(ScalarOp::Abs, v), constant(0.5, DType::F32)})}),
    };
    emit(shape(x), Map{options[draw(0, std::ssize(options) - 1)], {x, b}});
  }

  Affine term(std::size_t index, const Rational &factor, const Rational &constant) const {
    Affine affine{std::vector<Rational>(indices_), constant};
    if (index < indices_)
      affine.coeff[index] = factor;
    return affine;
  }

  // Result index d runs along dimension d, then come reduced indices with constraints.
  void add_contraction() {
    const std::int64_t outputs = draw(0, 2);
    const std::int64_t reduced = draw(outputs == 0 ? 1 : 0, 2);
    indices_ = static_cast<std::size_t>(outputs + reduced);
    Contraction body;
    body.agg = static_cast<Agg>(draw(0, reduced == 0 ? 4 : 3));
    body.comb = static_cast<Comb>(draw(0, 4));
    Shape sizes;
    for (std::size_t i = 0; i < indices_; ++i) {
      body.indices.push_back(std::string(1, static_cast<char>('a' + i)));
      if (i >= static_cast<std::size_t>(outputs)) {
        body.constraints.push_back({term(i, Rational(1), Rational(0)), draw(1, 3)});
        continue;
      }
      sizes.push_back(draw(1, 5));
      const bool spread = chance(20);
      body.out.push_back(term(i, Rational(spread ? 2 : 1), Rational(spread ? draw(-1, 1) : 0)));
    }
    for (std::size_t k = 0; !takes_operands(body.comb, k); ++k)
      body.in.push_back(read(any(), body));
    if (chance(25))
      body.init = input(sizes);
    emit(std::move(sizes), std::move(body));
  }

  // Each subscript is an index, a window (stride, dilation, padding), or a fraction.
  Access read(TensorId id, const Contraction &body) {
    Access access{id, {}};
    for (std::size_t d = 0; d < shape(id).size(); ++d) {
      const auto index = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(indices_) - 1));
      Affine at = term(index, Rational(chance(70) ? 1 : draw(1, 3)), Rational(draw(-1, 1)));
      if (chance(40))
        at.coeff[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(indices_) - 1))] =
            Rational(draw(1, 2));
      if (chance(15) && body.comb != Comb::Select) {
        for (Rational &value : at.coeff)
          value = value / Rational(2);
        at.constant = at.constant / Rational(2);
      }
      access.subscripts.push_back(std::move(at));
    }
    return access;
  }

  Program program_;
  std::vector<TensorId> pool_;
  std::size_t indices_ = 0;
};

} // namespace

Program random_program() { return Generator().make(); }

} // namespace tilefuse::program::testing
