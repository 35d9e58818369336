// SPDX-License-Identifier: Apache-2.0
// Random contractions, flattened and evaluated, against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "nest/flatten/flatten.h"
#include "nest/flatten/merge.h"
#include "nest/random_contraction.h"
#include "program/storage/boxes.h"

namespace tilefuse {
namespace {

using program::Agg;
using program::Shape;
using program::TensorId;
using test::Neighbours;
using test::RandomContraction;

constexpr double kPoison = 77;

enum class Kind { Checked, Empty, Repeated, Refused };

struct Outcome {
  Kind kind = Kind::Checked;
  bool has_guard = false;
  bool has_constraint = false;
  bool has_merge = false;
  bool has_stride = false;
  bool has_pieces = false;
};

void look_at(const nest::Nest &nest, Outcome &outcome) {
  for (const nest::Operand &input : nest.inputs)
    for (const nest::Dim &dim : input.dims)
      outcome.has_guard |= dim.guarded;
  for (const nest::Dim &dim : nest.out.dims)
    outcome.has_stride |= std::any_of(dim.at.coeff.begin(), dim.at.coeff.end(),
                                      [](std::int64_t c) { return c != 0 && c != 1; });
  outcome.has_constraint |= !nest.constraints.empty();
  outcome.has_merge |= nest::merge_indices(nest) != nest;
}

// An element of an operand from a number in [-4, 4]. Thousands of factors of a product stay exact:
// ones, twos and their opposites; where two operands are added, 1 and one of 0 and -2. Else a
// product could pass infinity on its way to a 0, in one order and not in another.
double element(const RandomContraction &contraction, bool is_first, int number) {
  if (contraction.body().agg != Agg::Product)
    return number;
  if (contraction.body().comb != program::Comb::Add)
    return number < -2 ? -1 : (number > 3 ? 2 : 1);
  return is_first ? 1 : (number < -2 ? -2 : 0);
}

void fill(const RandomContraction &contraction, unsigned seed, test::Memory &memory) {
  std::mt19937 random(seed + 1);
  std::uniform_int_distribution<int> any(-4, 4);
  const program::Program &program = contraction.stored.program;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorId id{static_cast<int>(i)};
    const bool is_first = contraction.body().in.front().tensor == id;
    if (program.tensors[i].role == program::Role::Input)
      test::for_each_point(program.tensors[i].shape, [&](const Shape &point) {
        memory.set(id, point, element(contraction, is_first, any(random)));
      });
  }
}

// Of a result that shares its buffer nothing outside the smallest box around what is computed may
// change.
bool may_change(const RandomContraction &contraction, const test::Defined &expected,
                const Shape &point) {
  if (contraction.neighbours == Neighbours::None)
    return true;
  const Shape &shape = contraction.stored.program[contraction.out()].shape;
  Shape lo(shape.size(), std::numeric_limits<std::int64_t>::max());
  Shape hi(shape.size(), -1);
  std::size_t n = 0;
  test::for_each_point(shape, [&](const Shape &at) {
    if (expected.written[n++])
      for (std::size_t d = 0; d < at.size(); ++d)
        lo[d] = std::min(lo[d], at[d]), hi[d] = std::max(hi[d], at[d]);
  });
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (point[d] < lo[d] || point[d] > hi[d])
      return false;
  return true;
}

// Whole numbers are kept in 32 bits and wrap; a value past them is not what arithmetic says.
bool may_wrap(const RandomContraction &contraction, double value) {
  constexpr double kWidest = 2147483647.0;
  const auto &in = contraction.body().in;
  const bool compares = contraction.body().comb == program::Comb::Select;
  const auto values = compares ? in.end() - 1 : in.begin(); // what is aggregated
  const bool is_whole = std::none_of(values, in.end(), [&](const program::Access &access) {
    return is_float(contraction.stored.program[access.tensor].type);
  });
  return is_whole && std::fabs(value) > kWidest;
}

void check_result(const RandomContraction &contraction, const test::Defined &expected,
                  bool poisoned, const test::Memory &memory) {
  const TensorId out = contraction.out();
  const DType type = contraction.stored.program[out].type;
  std::size_t i = 0;
  test::for_each_point(contraction.stored.program[out].shape, [&](const Shape &point) {
    double value = expected.values[i];
    const bool changes = may_change(contraction, expected, point);
    if (poisoned && !changes)
      value = kPoison;
    std::int64_t stored_value = 0;
    if (!is_float(type))
      value = cast_to_integer(value, DType::I64, type);
    store_element(&stored_value, type, 0, value);
    if (!may_wrap(contraction, expected.values[i])) {
      EXPECT_EQ(memory.get(out, point), load_element(&stored_value, type, 0)) << "element " << i;
    }
    ++i;
  });
}

Outcome classify(const Error &error, const RandomContraction &contraction,
                 const test::Defined &expected) {
  Outcome outcome{.kind = Kind::Refused};
  if (error.message().starts_with("nothing is computed")) {
    EXPECT_EQ(expected.points, 0) << error.what();
    outcome.kind = Kind::Empty;
  } else if (error.message().find("assigned repeatedly") != std::string::npos) {
    EXPECT_EQ(contraction.body().agg, Agg::Assign);
    outcome.kind = Kind::Repeated;
  } else {
    EXPECT_TRUE(error.code() == ErrorCode::Unsupported || error.code() == ErrorCode::Limit)
        << error.what();
  }
  return outcome;
}

Outcome run_flats(const RandomContraction &contraction, const test::Defined &expected,
                  const std::vector<nest::FlatStatement> &flats, test::Memory memory) {
  Outcome outcome{.has_pieces = flats.size() > 1};
  const program::Program &program = contraction.stored.program;
  const TensorId out = contraction.out();
  const bool spans = program::spans_result(program[out].shape, contraction.body());
  if (spans)
    test::for_each_point(program[out].shape,
                         [&](const Shape &point) { memory.set(out, point, kPoison); });
  test::Memory merged = memory;
  std::int64_t points = 0;
  for (const nest::FlatStatement &flat : flats) {
    look_at(flat.nest, outcome);
    points += nest::output_points(flat.nest);
    const std::string text = nest::to_text(flat.nest);
    EXPECT_EQ(nest::parse_nest(text), flat.nest) << text;
    memory.run(flat);
    merged.run(flat, nest::merge_indices(flat.nest));
  }
  EXPECT_EQ(memory.bytes(), merged.bytes());
  if (spans && contraction.neighbours == Neighbours::None) {
    EXPECT_EQ(points, program::elems(program[out].shape)) << "pieces overlap or leave a gap";
  }
  check_result(contraction, expected, spans, memory);
  return outcome;
}

Outcome run_case(unsigned seed) {
  const RandomContraction contraction = test::random_contraction(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program::to_text(contraction.stored));
  test::Memory memory(contraction.stored);
  fill(contraction, seed, memory);
  const test::Defined expected = test::by_definition(contraction, memory);
  std::vector<nest::FlatStatement> flats;
  try {
    flats = nest::flatten(contraction.stored, contraction.stored.program.statements[0]);
  } catch (const Error &error) {
    return classify(error, contraction, expected);
  }
  EXPECT_GT(expected.points, 0) << "no point counts, and that is not seen";
  const Outcome outcome = run_flats(contraction, expected, flats, memory);
  if (testing::Test::HasFailure())
    for (const nest::FlatStatement &flat : flats)
      ADD_FAILURE() << nest::to_text(flat.nest);
  return outcome;
}

// More cases with TILEFUSE_FUZZ_CASES=N.
unsigned case_count() {
  const char *text = std::getenv("TILEFUSE_FUZZ_CASES");
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 300;
}

TEST(RandomContraction, AgreesWithTheDefinition) {
  const unsigned cases = case_count();
  unsigned kinds[4] = {};
  unsigned guarded = 0, constrained = 0, merged = 0, strided = 0, pieces = 0;
  for (unsigned seed = 0; seed < cases && !HasFailure(); ++seed) {
    const Outcome outcome = run_case(seed);
    ++kinds[static_cast<int>(outcome.kind)];
    guarded += outcome.has_guard ? 1 : 0;
    constrained += outcome.has_constraint ? 1 : 0;
    merged += outcome.has_merge ? 1 : 0;
    strided += outcome.has_stride ? 1 : 0;
    pieces += outcome.has_pieces ? 1 : 0;
  }
  const auto record = [&](const char *name, unsigned count) {
    RecordProperty(name, static_cast<int>(count));
    std::printf("  %s %u of %u\n", name, count, cases);
  };
  record("checked", kinds[0]);
  record("empty", kinds[1]);
  record("repeated", kinds[2]);
  record("refused", kinds[3]);
  record("guarded", guarded);
  record("constrained", constrained);
  record("merged", merged);
  record("strided", strided);
  record("in pieces", pieces);
  EXPECT_GT(kinds[0], cases / 2);
  EXPECT_LE(kinds[3], cases / 200);
  EXPECT_GT(guarded, cases / 10);
  EXPECT_GT(constrained, cases / 20);
  EXPECT_GT(merged, cases / 50);
  EXPECT_GT(strided, cases / 10);
  EXPECT_GT(pieces, cases / 20);
}

} // namespace
} // namespace tilefuse
