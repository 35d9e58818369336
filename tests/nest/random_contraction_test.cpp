// SPDX-License-Identifier: Apache-2.0
// Random contractions against the definition: every integer tuple of a box that holds all ranges is
// tried.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "nest/stored.h"

namespace tilefuse {
namespace {

using program::Affine;
using program::Agg;
using program::Comb;
using program::Contraction;
using program::Program;
using program::Shape;
using program::Statement;
using program::StoredProgram;
using program::TensorId;

constexpr std::int64_t kReach =
    8; // every index of a generated contraction lies in [-kReach, kReach]

class Generator {
public:
  explicit Generator(unsigned seed) : random_(seed) {}

  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  Program program() {
    const int outputs = chance(10) ? 0 : pick(1, 3);
    const int reduced = chance(25) ? 0 : pick(1, outputs == 3 ? 1 : 2);
    outputs_ = static_cast<std::size_t>(outputs);
    count_ = static_cast<std::size_t>(outputs + reduced);
    body_ = {};
    body_.agg = static_cast<Agg>(pick(0, reduced == 0 ? 4 : 3));
    body_.comb = static_cast<Comb>(pick(0, 2));
    for (std::size_t i = 0; i < count_; ++i)
      body_.indices.push_back(std::string(1, static_cast<char>('a' + i)));
    Program program;
    const DType type = chance(70) ? DType::F32 : (chance(50) ? DType::I32 : DType::F64);
    const TensorId out = result(program, type, outputs);
    for (int i = outputs; i < outputs + reduced; ++i)
      body_.constraints.push_back({test::affine(count_, {{static_cast<std::size_t>(i), sign()}},
                                                chance(60) ? 0 : pick(-3, 4)),
                                   pick(1, 5)});
    for (int k = 0; k < (body_.comb == Comb::None ? 1 : 2); ++k)
      operand(program, chance(85) ? type : DType::I8);
    if (chance(25))
      body_.constraints.push_back({any_affine(2), pick(1, 6)});
    if (chance(25))
      body_.init = test::add_tensor(program, type, program[out].shape, program::Role::Input);
    program.statements.push_back({out, body_, "case"});
    program.outputs = {out};
    return program;
  }

  // Windows with the dimensions in any order, gaps between them and space before the first element.
  StoredProgram storage(const Program &program) {
    StoredProgram stored = test::row_major_storage(program);
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      const Shape &shape = program.tensors[i].shape;
      std::vector<std::size_t> order(shape.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), random_);
      program::Window &window = stored.windows[i];
      window.offset = pick(0, 2);
      std::int64_t stride = 1;
      for (std::size_t d : order) {
        window.strides[d] = stride;
        stride *= shape[d] + (chance(20) ? 1 : 0);
      }
      stored.buffers[i].elems = window.offset + stride;
    }
    share_init(stored);
    return stored;
  }

  double value() { return pick(-4, 4); }

private:
  std::int64_t sign() { return chance(80) ? 1 : -1; }

  TensorId result(Program &program, DType type, int outputs) {
    Shape shape;
    for (int d = 0; d < outputs; ++d) {
      if (chance(10)) {
        shape.push_back(pick(1, 3));
        body_.out.push_back(test::affine(count_, {}, pick(0, static_cast<int>(shape.back()) - 1)));
      }
      const int factor = chance(80) ? 1 : (chance(50) ? 2 : -1);
      shape.push_back(chance(10) ? 1 : pick(2, 6));
      body_.out.push_back(test::affine(count_, {{static_cast<std::size_t>(d), factor}},
                                       chance(20) ? pick(-2, 5) : 0));
    }
    return test::add_tensor(program, type, shape);
  }

  Affine any_affine(int terms) {
    Affine form = test::affine(count_, {}, chance(75) ? 0 : pick(-3, 3));
    for (int t = 0; t < terms && count_ > 0; ++t) {
      const auto index = static_cast<std::size_t>(pick(0, static_cast<int>(count_) - 1));
      form.coeff[index] = Rational(sign() * (chance(75) ? 1 : pick(2, 3)));
    }
    return form;
  }

  // A window that slides along a result index: s * y + d * r - p.
  void slide(Affine &form) {
    form.constant = pick(-3, 1);
    if (outputs_ > 0)
      form.coeff[static_cast<std::size_t>(pick(0, static_cast<int>(outputs_) - 1))] =
          chance(85) ? pick(1, 2) : -1;
    if (count_ > outputs_)
      form.coeff[static_cast<std::size_t>(
          pick(static_cast<int>(outputs_), static_cast<int>(count_) - 1))] =
          chance(85) ? pick(1, 3) : -1;
  }

  void operand(Program &program, DType type) {
    program::Access access;
    Shape shape;
    for (int d = pick(0, 3); d > 0; --d) {
      const bool window = chance(40);
      shape.push_back(window ? pick(3, 8) : pick(2, 7));
      access.subscripts.push_back(
          test::affine(count_, {}, chance(70) ? 0 : pick(0, static_cast<int>(shape.back()) - 1)));
      if (window)
        slide(access.subscripts.back());
      else if (chance(85))
        access.subscripts.back() = any_affine(1);
    }
    access.tensor = test::add_tensor(program, type, shape, program::Role::Input);
    body_.in.push_back(access);
  }

  void share_init(StoredProgram &stored) {
    const auto &body = std::get<Contraction>(stored.program.statements[0].body);
    if (body.init && chance(40))
      stored.windows[static_cast<std::size_t>(to_int(*body.init))] = stored.windows[0];
  }

  std::mt19937 random_;
  std::size_t count_ = 0;
  std::size_t outputs_ = 0;
  Contraction body_;
};

std::int64_t at(const Affine &form, const Shape &point) {
  std::int64_t value = form.constant.num();
  for (std::size_t i = 0; i < point.size(); ++i)
    value += form.coeff[i].num() * point[i];
  return value;
}

// Subscript values, or nothing outside the tensor.
std::optional<Shape> subscripts(const std::vector<Affine> &forms, const Shape &shape,
                                const Shape &point) {
  Shape values;
  for (std::size_t d = 0; d < forms.size(); ++d) {
    values.push_back(at(forms[d], point));
    if (values[d] < 0 || values[d] >= shape[d])
      return std::nullopt;
  }
  return values;
}

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

// The row-major result by the definition.
std::vector<double> by_definition(const Program &program, const test::Memory &memory) {
  const Statement &statement = program.statements[0];
  const auto &body = std::get<Contraction>(statement.body);
  const Shape &shape = program[statement.out].shape;
  const Shape strides = program::row_major(shape);
  std::vector<double> result(static_cast<std::size_t>(program::elems(shape)), 0);
  std::vector<bool> written(result.size(), false);
  const auto position = [&](const Shape &point) {
    return static_cast<std::size_t>(
        std::inner_product(point.begin(), point.end(), strides.begin(), std::int64_t{0}));
  };
  if (body.init)
    test::for_each_point(shape, [&](const Shape &point) {
      result[position(point)] = memory.get(*body.init, point);
    });
  const Shape box(body.indices.size(), 2 * kReach + 1);
  test::for_each_point(box, [&](Shape point) {
    for (std::int64_t &value : point)
      value -= kReach;
    const auto out = subscripts(body.out, shape, point);
    if (!out)
      return;
    for (const program::Constraint &constraint : body.constraints)
      if (at(constraint.expr, point) < 0 || at(constraint.expr, point) >= constraint.bound)
        return;
    std::vector<double> values;
    for (const program::Access &access : body.in) {
      const auto read = subscripts(access.subscripts, program[access.tensor].shape, point);
      if (!read)
        return;
      values.push_back(memory.get(access.tensor, *read));
    }
    double value = values[0];
    if (body.comb != Comb::None)
      value = body.comb == Comb::Mul ? values[0] * values[1] : values[0] + values[1];
    const std::size_t to = position(*out);
    result[to] = written[to] ? aggregate(body.agg, result[to], value) : value;
    written[to] = true;
  });
  return result;
}

struct Outcome {
  bool unsupported = false;
  bool empty = false;
  bool has_guard = false;
  bool has_constraint = false;
  bool has_merge = false;
};

void look_at(const nest::Nest &nest, Outcome &outcome) {
  for (const nest::Operand &input : nest.inputs)
    for (const nest::Dim &dim : input.dims)
      outcome.has_guard |= dim.guarded;
  outcome.has_constraint |= !nest.constraints.empty();
  outcome.has_merge |= nest::merge_indices(nest) != nest;
}

Outcome run_case(unsigned seed) {
  Generator generate(seed);
  const Program program = generate.program();
  const StoredProgram stored = generate.storage(program);
  const TensorId out = program.statements[0].out;
  test::Memory memory(stored);
  for (std::size_t i = 1; i < program.tensors.size(); ++i)
    test::for_each_point(program.tensors[i].shape, [&](const Shape &point) {
      memory.set(TensorId{static_cast<int>(i)}, point, generate.value());
    });
  Outcome outcome;
  std::vector<nest::FlatStatement> flats;
  try {
    flats = nest::flatten(stored, program.statements[0]);
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
    outcome.unsupported = true;
    return outcome;
  }
  outcome.empty = flats.empty();
  const std::vector<double> expected = by_definition(program, memory);
  test::Memory merged = memory;
  for (const nest::FlatStatement &flat : flats) {
    look_at(flat.nest, outcome);
    const std::string text = nest::to_text(flat.nest);
    EXPECT_EQ(nest::parse_nest(text), flat.nest) << text;
    memory.run(flat);
    merged.run(flat, nest::merge_indices(flat.nest));
  }
  EXPECT_EQ(memory.bytes(), merged.bytes());
  std::size_t i = 0;
  test::for_each_point(program[out].shape, [&](const Shape &point) {
    std::int64_t stored_value = 0;
    const DType type = program[out].type;
    store_element(&stored_value, type, 0, expected[i]);
    EXPECT_EQ(memory.get(out, point), load_element(&stored_value, type, 0)) << "element " << i;
    ++i;
  });
  if (testing::Test::HasFailure()) {
    ADD_FAILURE() << "seed " << seed << "\n";
    for (const nest::FlatStatement &flat : flats)
      ADD_FAILURE() << nest::to_text(flat.nest);
  }
  return outcome;
}

TEST(RandomContraction, AgreesWithTheDefinition) {
  constexpr int kCases = 1000;
  int unsupported = 0;
  int empty = 0;
  int guarded = 0;
  int constrained = 0;
  int merged = 0;
  for (int seed = 0; seed < kCases && !HasFailure(); ++seed) {
    const Outcome outcome = run_case(static_cast<unsigned>(seed));
    unsupported += outcome.unsupported ? 1 : 0;
    empty += outcome.empty ? 1 : 0;
    guarded += outcome.has_guard ? 1 : 0;
    constrained += outcome.has_constraint ? 1 : 0;
    merged += outcome.has_merge ? 1 : 0;
  }
  RecordProperty("unsupported", unsupported);
  RecordProperty("empty", empty);
  RecordProperty("guarded", guarded);
  RecordProperty("constrained", constrained);
  RecordProperty("merged", merged);
  EXPECT_LT(unsupported, kCases / 10);
  EXPECT_LT(empty, kCases / 2);
  EXPECT_GT(guarded, kCases / 10);
  EXPECT_GT(constrained, kCases / 50);
  EXPECT_GT(merged, kCases / 20);
}

} // namespace
} // namespace tilefuse
