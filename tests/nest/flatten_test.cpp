// SPDX-License-Identifier: Apache-2.0
// Nests of known statements, and the statements that have none.
#include <gtest/gtest.h>

#include "base/error.h"
#include "nest/convolution.h"
#include "nest/flatten/flatten.h"
#include "nest/stored.h"

namespace tilefuse {
namespace {

using program::Agg;
using program::Comb;
using program::Contraction;
using program::Program;
using program::Role;
using program::TensorId;
using test::affine;

std::string only_nest(const program::StoredProgram &stored) {
  const auto flats = nest::flatten(stored, stored.program.statements.at(0));
  EXPECT_EQ(flats.size(), 1U);
  return flats.empty() ? "" : nest::to_text(flats.back().nest);
}

// The error of flattening statement 0 of a row-major program.
Error flatten_error(const Program &program) {
  const program::StoredProgram stored = test::row_major_storage(program);
  try {
    nest::flatten(stored, stored.program.statements.at(0));
  } catch (const Error &error) {
    return error;
  }
  ADD_FAILURE() << "flattening succeeded";
  return Error(ErrorCode::Cancelled, "");
}

// t1[out] = agg(t0[in]) over indices a, b, …
Program one_operand(Agg agg, program::Shape from, program::Shape to, std::size_t indices) {
  Program program;
  const TensorId in = test::add_tensor(program, DType::F32, std::move(from), Role::Input);
  const TensorId out = test::add_tensor(program, DType::F32, std::move(to));
  Contraction body;
  body.agg = agg;
  for (std::size_t i = 0; i < indices; ++i)
    body.indices.push_back(std::string(1, static_cast<char>('a' + i)));
  body.in = {{in, {}}};
  program.inputs = {in};
  program.outputs = {out};
  program.statements.push_back({out, body, "Op op1"});
  return program;
}

Contraction &body_of(Program &program) { return std::get<Contraction>(program.statements[0].body); }

TEST(Flatten, PaddedConvolutionKeepsItsBox) {
  program::StoredProgram stored = test::row_major_storage(
      test::convolution_program({.batch = 2, .in = 64, .out = 64, .height = 56, .width = 56}));
  test::make_channels_last(stored, TensorId{0});
  test::make_channels_last(stored, TensorId{2});
  EXPECT_EQ(only_nest(stored), R"(nest conv {
  index n 2, m 64, y 56, x 56 | c 64, r 3, s 3
  slot 0 f32 401408, 1 f32 36864, 2 f32 401408
  acc f32 = sum mul
  in 0 + 0 [n:2*200704, c:64*1, y + r - 1:56?*3584, x + s - 1:56?*64]
  in 1 + 0 const [m:64*576, c:64*9, r:3*3, s:3*1]
  out 2 + 0 [n:2*200704, m:64*1, y:56*3584, x:56*64]
  post acc
}
)");
}

TEST(Flatten, PointIndicesBecomeConstants) {
  const auto text = only_nest(test::row_major_storage(
      test::convolution_program({.in = 3, .out = 5, .kernel = 1, .stride = 2, .pad = 0})));
  EXPECT_EQ(text, R"(nest conv {
  index m 5, y 4, x 4 | c 3
  slot 0 f32 192, 1 f32 15, 2 f32 80
  acc f32 = sum mul
  in 0 + 0 [0:1*192, c:3*64, 2*y:8*8, 2*x:8*1]
  in 1 + 0 const [m:5*3, c:3*1, 0:1*1, 0:1*1]
  out 2 + 0 [0:1*80, m:5*16, y:4*4, x:4*1]
  post acc
}
)");
}

TEST(Flatten, TapsThatNeverLandDisappear) {
  const auto text = only_nest(
      test::row_major_storage(test::convolution_program({.in = 2, .height = 1, .width = 1})));
  EXPECT_NE(text.find("index m 4 | c 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("const [m:4*18, c:2*9, 1:3*3, 1:3*1]"), std::string::npos) << text;
}

TEST(Flatten, ImpliedConstraintsDisappear) {
  Program program = one_operand(Agg::Sum, {9}, {6}, 2);
  body_of(program).out = {affine(2, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(2, {{0, 1}, {1, 1}})};
  body_of(program).constraints = {{affine(2, {{1, 1}}), 3}, {affine(2, {{0, 1}, {1, 1}}), 20}};
  const std::string text = only_nest(test::row_major_storage(program));
  EXPECT_EQ(text.find("where"), std::string::npos) << text;
  EXPECT_NE(text.find("in 0 + 0 [a + b:9*1]"), std::string::npos) << text;

  body_of(program).constraints.back() = {affine(2, {{0, 1}, {1, -1}}, 1), 4};
  const std::string kept = only_nest(test::row_major_storage(program));
  EXPECT_NE(kept.find("where a - b + 1 < 4"), std::string::npos) << kept;
}

TEST(Flatten, DepthwiseAndPoolingHaveTheirNames) {
  Program program = one_operand(Agg::Max, {4, 9}, {4, 3}, 3);
  body_of(program).out = {affine(3, {{0, 1}}), affine(3, {{1, 1}})};
  body_of(program).in[0].subscripts = {affine(3, {{0, 1}}), affine(3, {{1, 2}, {2, 1}})};
  body_of(program).constraints = {{affine(3, {{2, 1}}), 3}};
  EXPECT_EQ(only_nest(test::row_major_storage(program)).substr(0, 13), "nest maxpool ");

  const TensorId filter = test::add_tensor(program, DType::F32, {4, 3}, Role::Constant);
  body_of(program).agg = Agg::Sum;
  body_of(program).comb = Comb::Mul;
  body_of(program).in.push_back({filter, {affine(3, {{0, 1}}), affine(3, {{2, 1}})}});
  EXPECT_EQ(only_nest(test::row_major_storage(program)).substr(0, 12), "nest dwconv ");
}

TEST(Flatten, MapsBroadcastAndShareOperands) {
  Program program;
  const TensorId x = test::add_tensor(program, DType::F32, {2, 3, 4}, Role::Input);
  const TensorId bias = test::add_tensor(program, DType::F32, {3, 1}, Role::Constant);
  const TensorId out = test::add_tensor(program, DType::F16, {2, 3, 4});
  const program::Expr sum = program::call(
      ScalarOp::Add, {program::operand(0, DType::F32), program::operand(1, DType::F32)});
  const program::Expr expr = program::call(ScalarOp::Mul, {sum, program::operand(2, DType::F32)});
  program.statements.push_back(
      {out, program::Map{program::cast(expr, DType::F16), {x, bias, x}}, "Mul"});
  EXPECT_EQ(only_nest(test::row_major_storage(program)), R"(nest map {
  index d0 2, d1 3, d2 4
  slot 0 f32 24, 1 f32 3, 2 f16 24
  acc f16 = assign
  out 2 + 0 [d0:2*12, d1:3*4, d2:4*1]
  extra 0 + 0 [d0:2*12, d1:3*4, d2:4*1]
  extra 1 + 0 const [d1:3*1, 0:1*1]
  post f16(($0 + $1) * $0)
}
)");
}

TEST(Flatten, TensorsOfOneBufferShareASlot) {
  Program program = one_operand(Agg::Assign, {4}, {4}, 1);
  body_of(program).out = {affine(1, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(1, {{0, 1}})};
  program::StoredProgram stored = test::row_major_storage(program);
  stored.windows[1] = {program::BufferId{0}, 4, {1}};
  stored.buffers[0].elems = 8;
  const auto flats = nest::flatten(stored, stored.program.statements[0]);
  ASSERT_EQ(flats.size(), 1U);
  EXPECT_EQ(flats[0].buffers, std::vector{program::BufferId{0}});
  EXPECT_EQ(flats[0].nest.out.slot, nest::SlotId{0});
  EXPECT_EQ(flats[0].nest.out.offset, 4);
}

// The result is written at `offset` … of an init of ten elements.
std::vector<nest::FlatStatement> insert(std::int64_t count, std::int64_t offset, bool shared) {
  Program program = one_operand(Agg::Assign, {count}, {10}, 1);
  body_of(program).out = {affine(1, {{0, 1}}, offset)};
  body_of(program).in[0].subscripts = {affine(1, {{0, 1}})};
  body_of(program).init = test::add_tensor(program, DType::F32, {10}, Role::Input);
  program::StoredProgram stored = test::row_major_storage(program);
  if (shared)
    stored.windows[1] = stored.windows[2];
  return nest::flatten(stored, stored.program.statements[0]);
}

TEST(Flatten, CopiesTheInitOnlyWhereItShows) {
  EXPECT_EQ(insert(4, 3, false).size(), 2U);
  EXPECT_EQ(insert(4, 3, true).size(), 1U);
  EXPECT_EQ(insert(10, 0, false).size(), 1U);
}

TEST(Flatten, NamesWhatLeavesNoPoint) {
  Program program = one_operand(Agg::Sum, {4}, {4}, 1);
  body_of(program).out = {affine(1, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(1, {{0, 1}}, 4)};
  const Error outside = flatten_error(program);
  EXPECT_EQ(outside.code(), ErrorCode::Shape);
  EXPECT_EQ(outside.message(), "nothing is computed: no point satisfies 0 <= a < 4 (dimension 0 of "
                               "the result) and 0 <= a + 4 < 4 (dimension 0 of operand 0)");
  EXPECT_EQ(outside.where(), "Op op1");

  // The least value comes from one constraint, the greatest from another.
  body_of(program).in[0].subscripts = {affine(1, {{0, 1}})};
  body_of(program).constraints = {{affine(1, {{0, 2}}, -1), 4}, {affine(1, {{0, 3}}), 3}};
  EXPECT_EQ(
      flatten_error(program).message(),
      "nothing is computed: no point satisfies 0 <= 2*a - 1 < 4 (a constraint) and 0 <= 3*a < "
      "3 (a constraint)");
}

TEST(Flatten, MaximumOverPaddingAloneIsZero) {
  Program program = one_operand(Agg::Max, {3}, {4}, 2);
  body_of(program).out = {affine(2, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(2, {{0, 2}, {1, 1}}, -2)};
  body_of(program).constraints = {{affine(2, {{1, 1}}), 2}};
  const program::StoredProgram stored = test::row_major_storage(program);
  test::Memory memory(stored);
  for (std::int64_t i = 0; i < 3; ++i)
    memory.set(TensorId{0}, {i}, -5.0 - static_cast<double>(i));
  for (const nest::FlatStatement &flat : nest::flatten(stored, stored.program.statements[0]))
    memory.run(flat);
  EXPECT_EQ(memory.get(TensorId{1}, {0}), 0);
  EXPECT_EQ(memory.get(TensorId{1}, {1}), -5);
  EXPECT_EQ(memory.get(TensorId{1}, {2}), -7);
  EXPECT_EQ(memory.get(TensorId{1}, {3}), 0);
}

// Of a byte that no input has, -128 or another, only a wider type can tell.
TEST(Flatten, MaximaOfBytesAreKeptAsBytesWhereNoWindowIsEmpty) {
  Program program = one_operand(Agg::Max, {3}, {4}, 2);
  program[TensorId{0}].type = program[TensorId{1}].type = DType::I8;
  body_of(program).out = {affine(2, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(2, {{0, 2}, {1, 1}}, -2)};
  body_of(program).constraints = {{affine(2, {{1, 1}}), 2}};
  const program::StoredProgram padded = test::row_major_storage(program);
  const std::string some_empty = only_nest(padded);
  EXPECT_NE(some_empty.find("  acc i32 = max\n"), std::string::npos) << some_empty;
  body_of(program).in[0].subscripts = {affine(2, {{0, 1}, {1, 1}}, -1)};
  EXPECT_NE(only_nest(test::row_major_storage(program)).find("  acc i8 = max\n"),
            std::string::npos);
}

TEST(Flatten, NamesTheUnboundedIndex) {
  Program program = one_operand(Agg::Sum, {4}, {4}, 2);
  body_of(program).out = {affine(2, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(2, {{0, 1}})};
  const Error error = flatten_error(program);
  EXPECT_EQ(error.code(), ErrorCode::Shape);
  EXPECT_NE(error.message().find("'b'"), std::string::npos);
  EXPECT_EQ(error.where(), "Op op1");
}

TEST(Flatten, TwoIndicesThatOnlyBoundEachOtherAreUnbounded) {
  Program program = one_operand(Agg::Sum, {4}, {}, 2);
  body_of(program).in[0].subscripts = {affine(2, {{0, 1}, {1, -1}})};
  EXPECT_EQ(flatten_error(program).code(), ErrorCode::Shape);
}

TEST(Flatten, NamesSubscriptsThatAreNeverWhole) {
  Program half = one_operand(Agg::Assign, {4}, {8}, 1);
  body_of(half).out = {affine(1, {{0, 2}})};
  body_of(half).in[0].subscripts = {affine(1, {{0, 1}})};
  body_of(half).in[0].subscripts[0].constant = Rational(1, 2);
  const Error error = flatten_error(half);
  EXPECT_EQ(error.code(), ErrorCode::Shape);
  EXPECT_EQ(error.message(), "nothing is computed: 0 <= a + 1/2 < 4 (dimension 0 of operand 0) "
                             "gives no whole number at any point");
}

TEST(Flatten, RefusesRepeatedAssignment) {
  Program program = one_operand(Agg::Assign, {4, 4}, {4}, 2);
  body_of(program).out = {affine(2, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(2, {{0, 1}}), affine(2, {{1, 1}})};
  const Error error = flatten_error(program);
  EXPECT_EQ(error.code(), ErrorCode::Shape);
  EXPECT_NE(error.message().find("'b'"), std::string::npos);
}

TEST(Flatten, RefusesAbsurdNumbers) {
  Program program = one_operand(Agg::Sum, {4}, {4}, 2);
  body_of(program).out = {affine(2, {{0, 1}})};
  body_of(program).in[0].subscripts = {affine(2, {{0, 1}}, std::int64_t{1} << 60)};
  EXPECT_EQ(flatten_error(program).code(), ErrorCode::Limit);

  body_of(program).in[0].subscripts = {affine(2, {{0, 1}})};
  body_of(program).constraints = {{affine(2, {{1, 1}}), std::numeric_limits<std::int64_t>::max()}};
  EXPECT_EQ(flatten_error(program).code(), ErrorCode::Limit);
}

} // namespace
} // namespace tilefuse
