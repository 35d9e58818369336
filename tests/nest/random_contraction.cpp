// SPDX-License-Identifier: Apache-2.0
#include "nest/random_contraction.h"

#include <algorithm>
#include <numeric>

#include "base/index.h"

namespace tilefuse::test {
namespace {

using program::Affine;
using program::Agg;
using program::Comb;
using program::Contraction;
using program::Program;
using program::Shape;
using program::TensorId;

constexpr std::int64_t kMaxTuples = 40000;

// A form scaled to integers: the value at a point is sum / den.
struct Scaled {
  std::vector<std::int64_t> coeff;
  std::int64_t constant = 0;
  std::int64_t den = 1;

  explicit Scaled(const Affine &form) {
    den = form.constant.den();
    for (const Rational &value : form.coeff)
      den = std::lcm(den, value.den());
    constant = form.constant.num() * (den / form.constant.den());
    for (const Rational &value : form.coeff)
      coeff.push_back(value.num() * (den / value.den()));
  }
  std::int64_t at(const Shape &point) const {
    return std::inner_product(coeff.begin(), coeff.end(), point.begin(), constant);
  }
};

class Generator {
public:
  explicit Generator(unsigned seed) : random_(seed) {}

  RandomContraction run() {
    count_ = static_cast<std::size_t>(chance(65) ? pick(1, 4) : pick(5, 8));
    RandomContraction result;
    body_.agg = static_cast<Agg>(pick(0, chance(15) ? 4 : 3));
    body_.comb = static_cast<Comb>(pick(0, 4));
    for (std::size_t i = 0; i < count_; ++i)
      body_.indices.push_back(std::string(1, static_cast<char>('a' + i)));
    Program &program = result.stored.program;
    const DType type = chance(70) ? DType::F32 : DType::I32;
    const TensorId out = add_result(program, type);
    for (std::size_t k = 0; !program::takes_operands(body_.comb, k); ++k)
      add_operand(program, chance(85) ? type : DType::I8);
    if (chance(30))
      body_.constraints.push_back({form(pick(1, 3)), pick(1, 6)});
    add_windows(program, out);
    if (chance(25))
      body_.init = add_tensor(program, type, program[out].shape, program::Role::Input);
    program.statements.push_back({out, body_, "case"});
    result.box = box(program, out);
    place(result);
    return result;
  }

private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  std::size_t any_index() {
    return static_cast<std::size_t>(pick(0, static_cast<int>(count_) - 1));
  }

  Rational factor() {
    if (chance(65))
      return chance(80) ? 1 : -1;
    if (chance(50))
      return chance(75) ? pick(2, 3) : -2;
    static const Rational fractions[] = {{1, 2}, {-1, 2}, {1, 3}, {3, 2}, {2, 3}};
    return fractions[pick(0, 4)];
  }

  Rational constant() {
    if (chance(65))
      return 0;
    return chance(85) ? Rational(pick(-3, 4)) : Rational(pick(-3, 3), pick(2, 3));
  }

  Affine form(int terms) {
    Affine result = affine(count_, {});
    result.constant = constant();
    for (int t = 0; t < terms; ++t)
      result.coeff[any_index()] = factor();
    return result;
  }

  TensorId add_result(Program &program, DType type) {
    Shape shape;
    const bool plain = body_.agg == Agg::Assign;
    const int rank = plain ? static_cast<int>(std::min<std::size_t>(count_, 4)) : pick(0, 3);
    count_ = plain ? static_cast<std::size_t>(rank) : count_;
    body_.indices.resize(count_);
    for (int d = 0; d < rank; ++d) {
      shape.push_back(chance(10) ? 1 : pick(2, 9));
      if (plain || chance(50)) {
        body_.out.push_back(affine(count_, {}));
        body_.out.back().coeff[static_cast<std::size_t>(d) % count_] = factor();
        body_.out.back().constant = constant();
      } else {
        body_.out.push_back(chance(12) ? affine(count_, {}, pick(0, 1)) : form(2));
      }
    }
    return add_tensor(program, type, shape);
  }

  void add_operand(Program &program, DType type) {
    program::Access access;
    Shape shape;
    for (int d = pick(0, 3); d > 0; --d) {
      shape.push_back(pick(2, 8));
      access.subscripts.push_back(form(chance(60) ? 1 : pick(2, 3)));
    }
    access.tensor = add_tensor(program, type, shape, program::Role::Input);
    body_.in.push_back(access);
  }

  template <class Visit> void each_row(const Program &program, TensorId out, Visit visit) const {
    for (std::size_t d = 0; d < body_.out.size(); ++d)
      visit(body_.out[d], program[out].shape[d]);
    for (const program::Access &access : body_.in)
      for (std::size_t d = 0; d < access.subscripts.size(); ++d)
        visit(access.subscripts[d], program[access.tensor].shape[d]);
    for (const program::Constraint &constraint : body_.constraints)
      visit(constraint.expr, constraint.bound);
  }

  // What rows of one index say of it.
  std::vector<std::pair<std::int64_t, std::int64_t>> box(const Program &program,
                                                         TensorId out) const {
    constexpr std::int64_t kFar = 1000;
    std::vector<std::pair<std::int64_t, std::int64_t>> result(count_, {-kFar, kFar});
    each_row(program, out, [&](const Affine &form, std::int64_t bound) {
      const Scaled row(form);
      if (std::count(row.coeff.begin(), row.coeff.end(), 0) + 1 !=
          static_cast<std::ptrdiff_t>(count_))
        return;
      for (std::size_t i = 0; i < count_; ++i) {
        if (row.coeff[i] == 0)
          continue;
        const auto holds = [&](std::int64_t value) {
          const std::int64_t sum = row.coeff[i] * value + row.constant;
          return sum >= 0 && sum < bound * row.den;
        };
        while (result[i].first <= result[i].second && !holds(result[i].first))
          ++result[i].first;
        while (result[i].first <= result[i].second && !holds(result[i].second))
          --result[i].second;
      }
    });
    return result;
  }

  // Constraints on single indices until all tuples can be tried.
  void add_windows(const Program &program, TensorId out) {
    while (true) {
      const auto ranges = box(program, out);
      double tuples = 1;
      std::size_t widest = 0;
      const auto width = [&](std::size_t i) { return ranges[i].second - ranges[i].first + 1; };
      for (std::size_t i = 0; i < count_; ++i) {
        tuples *= static_cast<double>(std::max<std::int64_t>(width(i), 0));
        widest = width(i) > width(widest) ? i : widest;
      }
      if (tuples <= static_cast<double>(kMaxTuples) && width(widest) < 100)
        return;
      const std::int64_t wide = count_ > 4 ? 3 : 6;
      const std::int64_t bound =
          std::min<std::int64_t>(pick(2, static_cast<int>(wide)), width(widest) - 1);
      const std::int64_t lo =
          ranges[widest].first < -100 ? pick(-2, 1) : ranges[widest].first + pick(0, 1);
      body_.constraints.push_back({affine(count_, {{widest, 1}}, -lo), bound});
    }
  }

  void place(RandomContraction &result) {
    Program &program = result.stored.program;
    result.stored = row_major_storage(program);
    program::StoredProgram &stored = result.stored;
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      const Shape &shape = program.tensors[i].shape;
      std::vector<std::size_t> order(shape.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), random_);
      program::Window &window = stored.windows[i];
      window.offset = pick(0, 2);
      std::int64_t stride = 1;
      for (const std::size_t d : order) {
        window.strides[d] = stride;
        stride *= shape[d] + (chance(20) ? 1 : 0);
      }
      stored.buffers[i].elems = window.offset + stride;
    }
    if (body_.init && chance(40))
      stored.windows[at(*body_.init)] = stored.windows[0];
    if (!body_.init && chance(20)) {
      result.neighbours = Neighbours::Shared;
      const TensorId other = add_tensor(stored.program, stored.program.tensors[0].type, {1});
      stored.windows.push_back({program::BufferId{0}, 0, {1}});
      stored.program.statements.push_back({other, program::Map{}, "neighbour"});
    }
  }

  std::mt19937 random_;
  std::size_t count_ = 0;
  Contraction body_;
};

double aggregate(Agg agg, double acc, double value) {
  switch (agg) {
  case Agg::Sum:
    return acc + value;
  case Agg::Product:
    return acc * value;
  case Agg::Max:
    return std::max(acc, value);
  case Agg::Min:
    return std::min(acc, value);
  case Agg::Assign:
    return value;
  }
  return 0;
}

double combined(Comb comb, const std::vector<double> &values) {
  switch (comb) {
  case Comb::None:
    return values[0];
  case Comb::Mul:
    return values[0] * values[1];
  case Comb::Add:
    return values[0] + values[1];
  case Comb::Equal:
    return values[0] == values[1] ? 1 : 0;
  case Comb::Select:
    return values[0] == values[1] ? values[2] : 0;
  case Comb::Term:
  case Comb::Pick:
    break; // never drawn
  }
  return 0;
}

// The subscripts of one tensor.
struct Subscripts {
  std::vector<Scaled> forms;
  Shape shape;

  Subscripts(const std::vector<Affine> &affines, Shape sizes) : shape(std::move(sizes)) {
    for (const Affine &form : affines)
      forms.emplace_back(form);
  }
  // Nothing outside the tensor and off the integers.
  std::optional<Shape> at(const Shape &point) const {
    Shape values;
    for (std::size_t d = 0; d < forms.size(); ++d) {
      const std::int64_t sum = forms[d].at(point);
      if (sum % forms[d].den != 0 || sum < 0 || sum / forms[d].den >= shape[d])
        return std::nullopt;
      values.push_back(sum / forms[d].den);
    }
    return values;
  }
};

} // namespace

RandomContraction random_contraction(unsigned seed) {
  constexpr unsigned kAttempts = 16;
  RandomContraction result;
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    result = Generator(seed * kAttempts + attempt).run();
    const bool takes_any = seed % kAttempts == 0;
    if (takes_any || by_definition(result, Memory(result.stored)).points > 0)
      break;
  }
  return result;
}

Defined by_definition(const RandomContraction &contraction, const Memory &memory) {
  const Program &program = contraction.stored.program;
  const Contraction &body = contraction.body();
  const TensorId out = contraction.out();
  const Shape strides = program::row_major(program[out].shape);
  const auto position = [&](const Shape &point) {
    return static_cast<std::size_t>(
        std::inner_product(point.begin(), point.end(), strides.begin(), std::int64_t{0}));
  };
  Defined result;
  result.values.assign(static_cast<std::size_t>(program::elems(program[out].shape)), 0);
  result.written.assign(result.values.size(), false);
  if (body.init)
    for_each_point(program[out].shape, [&](const Shape &point) {
      result.values[position(point)] = memory.get(*body.init, point);
    });
  const Subscripts results(body.out, program[out].shape);
  std::vector<Subscripts> operands;
  for (const program::Access &access : body.in)
    operands.emplace_back(access.subscripts, program[access.tensor].shape);
  std::vector<Scaled> constraints;
  for (const program::Constraint &constraint : body.constraints)
    constraints.emplace_back(constraint.expr);
  Shape extents;
  for (const auto &[lo, hi] : contraction.box)
    extents.push_back(std::max<std::int64_t>(0, hi - lo + 1));
  for_each_point(extents, [&](Shape point) {
    for (std::size_t i = 0; i < point.size(); ++i)
      point[i] += contraction.box[i].first;
    for (std::size_t c = 0; c < constraints.size(); ++c) {
      const std::int64_t sum = constraints[c].at(point);
      if (sum < 0 || sum >= body.constraints[c].bound * constraints[c].den)
        return;
    }
    const std::optional<Shape> to = results.at(point);
    if (!to)
      return;
    std::vector<double> values;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::optional<Shape> from = operands[k].at(point);
      if (!from)
        return;
      values.push_back(memory.get(body.in[k].tensor, *from));
    }
    const double value = combined(body.comb, values);
    const std::size_t at = position(*to);
    result.values[at] = result.written[at] ? aggregate(body.agg, result.values[at], value) : value;
    result.written[at] = true;
    ++result.points;
  });
  return result;
}

} // namespace tilefuse::test
