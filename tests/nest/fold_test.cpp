// SPDX-License-Identifier: Apache-2.0
// Folding keeps what a program computes and removes what can be computed once.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "nest/convolution.h"
#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "nest/stored.h"
#include "program/drop_dead.h"

namespace tilefuse {
namespace {

using program::Expr;
using program::HostTensor;
using program::Program;
using program::Role;
using program::Shape;
using program::TensorId;

constexpr DType F32 = DType::F32;

Expr value(int position) { return program::operand(position, F32); }
Expr call(ScalarOp op, std::vector<Expr> args) { return program::call(op, std::move(args)); }

// Appends a map with the result's shape, or that of operand 0.
TensorId map(Program &program, const Expr &expr, std::vector<TensorId> operands, Shape shape = {}) {
  if (shape.empty())
    shape = program[operands.at(0)].shape;
  const TensorId out = test::add_tensor(program, expr.type, shape);
  program.statements.push_back({out, program::Map{expr, std::move(operands)}, "Map"});
  return out;
}

TensorId view(Program &program, TensorId in, Shape shape) {
  const TensorId out = test::add_tensor(program, program[in].type, std::move(shape));
  program.statements.push_back({out, program::View{in}, "Reshape"});
  return out;
}

// (x - mean) / sqrt(var + 0.001) * scale + bias per channel of a [N, C, …] tensor.
TensorId batch_norm(Program &program, TensorId x, std::mt19937 &random) {
  Shape shape(program[x].shape.size(), 1);
  shape[1] = program[x].shape[1];
  const auto constant = [&](double least) {
    return test::add_constant(program, F32, shape, random, 8, 0.25, least);
  };
  const Expr centred = call(ScalarOp::Sub, {value(0), value(1)});
  const Expr deviation =
      call(ScalarOp::Sqrt, {call(ScalarOp::Add, {value(2), program::constant(0.001, F32)})});
  const Expr scaled = call(ScalarOp::Mul, {call(ScalarOp::Div, {centred, deviation}), value(3)});
  return map(program, call(ScalarOp::Add, {scaled, value(4)}),
             {x, constant(-100), constant(0.25), constant(-100), constant(-100)});
}

TensorId bias(Program &program, TensorId x, std::mt19937 &random) {
  Shape shape(program[x].shape.size() - 1, 1);
  shape[0] = program[x].shape[1];
  return map(program, call(ScalarOp::Add, {value(0), value(1)}),
             {x, test::add_constant(program, F32, shape, random)});
}

TensorId relu(Program &program, TensorId x) {
  return map(program, call(ScalarOp::Max, {value(0), program::constant(0, F32)}), {x});
}

// A convolution of an input x with a constant filter.
TensorId convolve(Program &program, std::mt19937 &random, const test::ConvolutionShape &c) {
  const TensorId x =
      test::add_tensor(program, F32, {c.batch, c.in, c.height, c.width}, Role::Input);
  program.inputs = {x};
  const TensorId filter =
      test::add_constant(program, F32, {c.out, c.in, c.kernel, c.kernel}, random);
  const TensorId out =
      test::add_tensor(program, F32, {c.batch, c.out, c.out_height(), c.out_width()});
  program.statements.push_back(test::convolution(out, x, filter, c));
  return out;
}

std::map<std::string, HostTensor> random_inputs(const Program &program) {
  std::mt19937 random(5);
  std::map<std::string, HostTensor> inputs;
  for (TensorId id : program.inputs) {
    const program::Tensor &tensor = program[id];
    HostTensor host = program::make_host_tensor(tensor.name, tensor.type, tensor.shape);
    for (std::int64_t i = 0; i < program::elems(tensor.shape); ++i)
      program::set(host, i, static_cast<double>(random() % 9) - 4);
    inputs[tensor.name] = std::move(host);
  }
  return inputs;
}

void expect_same_results(const Program &a, const Program &b, double tolerance) {
  program::verify(b);
  const auto left = nest::evaluate_program(a, random_inputs(a));
  const auto right = nest::evaluate_program(b, random_inputs(b));
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t k = 0; k < left.size(); ++k) {
    ASSERT_EQ(left[k].shape, right[k].shape);
    double largest = 1;
    for (std::int64_t i = 0; i < program::elems(left[k].shape); ++i)
      largest = std::max(largest, std::fabs(program::get(left[k], i)));
    for (std::int64_t i = 0; i < program::elems(left[k].shape); ++i)
      ASSERT_NEAR(program::get(left[k], i), program::get(right[k], i), tolerance * largest);
  }
}

std::size_t count_maps(const Program &program) {
  std::size_t count = 0;
  for (const program::Statement &statement : program.statements)
    count += std::holds_alternative<program::Map>(statement.body) ? 1 : 0;
  return count;
}

const test::ConvolutionShape kShape{.batch = 2, .in = 3, .out = 5, .height = 6, .width = 7};

TEST(FoldScales, BatchNormBecomesWeightsAndOneAddition) {
  std::mt19937 random(1);
  Program program;
  const TensorId y = batch_norm(program, convolve(program, random, kShape), random);
  program.outputs = {relu(program, y)};
  const Program folded = nest::fold_scales(program);
  EXPECT_EQ(folded.statements.size(), 3U);
  EXPECT_EQ(folded.tensors.size(), 6U);
  const auto &shift = std::get<program::Map>(folded.statements[1].body);
  EXPECT_EQ(shift.operands.size(), 2U);
  EXPECT_EQ(folded[shift.operands[1]].shape, (Shape{1, 5, 1, 1}));
  expect_same_results(program, folded, 1e-6);
}

TEST(FoldScales, ChainsCompose) {
  std::mt19937 random(2);
  Program program;
  TensorId y = bias(program, convolve(program, random, kShape), random);
  y = batch_norm(program, y, random);
  y = map(program,
          call(ScalarOp::Sub, {program::constant(1, F32),
                               call(ScalarOp::Mul, {program::constant(0.5, F32), value(0)})}),
          {y});
  y = batch_norm(program, y, random);
  program.outputs = {y};
  const Program folded = nest::fold_scales(program);
  EXPECT_EQ(folded.statements.size(), 2U);
  expect_same_results(program, folded, 1e-6);
}

TEST(FoldScales, AFactorAloneNeedsNoAddition) {
  std::mt19937 random(3);
  Program program;
  const TensorId t = convolve(program, random, kShape);
  program.outputs = {map(program, call(ScalarOp::Div, {value(0), program::constant(4, F32)}), {t})};
  const Program folded = nest::fold_scales(program);
  EXPECT_EQ(folded.statements.size(), 1U);
  EXPECT_EQ(folded[folded.outputs[0]].name, program[program.outputs[0]].name);
  expect_same_results(program, folded, 0);
}

TEST(FoldScales, ABiasAloneStays) {
  std::mt19937 random(4);
  Program program;
  program.outputs = {bias(program, convolve(program, random, kShape), random)};
  const Program folded = nest::fold_scales(program);
  EXPECT_EQ(program::to_text(folded), program::to_text(program));
}

TEST(FoldScales, ReadersOfTheUnscaledResultBlock) {
  std::mt19937 random(5);
  Program program;
  const TensorId t = convolve(program, random, kShape);
  program.outputs = {batch_norm(program, t, random), relu(program, t)};
  EXPECT_EQ(count_maps(nest::fold_scales(program)), 2U);
  expect_same_results(program, nest::fold_scales(program), 0);

  Program returned;
  const TensorId u = convolve(returned, random, kShape);
  returned.outputs = {batch_norm(returned, u, random), u};
  EXPECT_EQ(count_maps(nest::fold_scales(returned)), 1U);
  expect_same_results(returned, nest::fold_scales(returned), 0);
}

TEST(FoldScales, ConstantsAlongAnotherDimensionBlock) {
  std::mt19937 random(6);
  Program program;
  const TensorId t = convolve(program, random, kShape);
  const TensorId columns = test::add_constant(program, F32, {7}, random);
  program.outputs = {map(program, call(ScalarOp::Mul, {value(0), value(1)}), {t, columns})};
  expect_same_results(program, nest::fold_scales(program), 0);
  EXPECT_EQ(count_maps(nest::fold_scales(program)), 1U);
}

TEST(FoldScales, OnlyAffineMapsFold) {
  std::mt19937 random(7);
  Program program;
  const TensorId t = convolve(program, random, kShape);
  program.outputs = {map(program, call(ScalarOp::Mul, {value(0), value(0)}), {t})};
  EXPECT_EQ(count_maps(nest::fold_scales(program)), 1U);
  expect_same_results(program, nest::fold_scales(program), 0);
}

TEST(FoldScales, InfiniteFactorsStay) {
  std::mt19937 random(8);
  Program program;
  const TensorId t = convolve(program, random, kShape);
  program.outputs = {map(program, call(ScalarOp::Div, {value(0), program::constant(0, F32)}), {t})};
  EXPECT_EQ(count_maps(nest::fold_scales(program)), 1U);
}

// O[n, g, m, y] = +(I[n, g, c, y] * K[g, m, c]), then seen as [n, g * m, y].
TEST(FoldScales, GroupsFoldThroughTheirView) {
  std::mt19937 random(9);
  Program program;
  const TensorId x = test::add_tensor(program, F32, {2, 3, 4, 5}, Role::Input);
  program.inputs = {x};
  const TensorId k = test::add_constant(program, F32, {3, 2, 4}, random);
  const TensorId t = test::add_tensor(program, F32, {2, 3, 2, 5});
  program::Contraction body;
  body.agg = program::Agg::Sum;
  body.comb = program::Comb::Mul;
  body.indices = {"n", "g", "m", "y", "c"};
  const auto plain = [](std::size_t index) { return test::affine(5, {{index, 1}}); };
  body.out = {plain(0), plain(1), plain(2), plain(3)};
  body.in = {{x, {plain(0), plain(1), plain(4), plain(3)}}, {k, {plain(1), plain(2), plain(4)}}};
  program.statements.push_back({t, body, "Conv"});
  const TensorId o = view(program, t, {2, 6, 5});
  program.outputs = {relu(program, batch_norm(program, bias(program, o, random), random))};
  const Program folded = nest::fold_scales(program);
  EXPECT_EQ(count_maps(folded), 2U);
  expect_same_results(program, folded, 1e-6);

  // A view that tears the channels apart does not fold.
  Program torn = program;
  torn.statements.resize(1);
  const TensorId flat = view(torn, t, {4, 15});
  torn.outputs = {batch_norm(torn, flat, random)};
  EXPECT_EQ(count_maps(nest::fold_scales(torn)), 1U);
  expect_same_results(torn, nest::fold_scales(torn), 0);
}

TEST(FoldScales, SharedFiltersAreScaledSeparately) {
  std::mt19937 random(10);
  Program program;
  const TensorId t = convolve(program, random, kShape);
  const TensorId u = test::add_tensor(program, F32, program[t].shape);
  program::Statement again = program.statements[0];
  again.out = u;
  program.statements.push_back(again);
  program.outputs = {batch_norm(program, t, random), batch_norm(program, u, random)};
  expect_same_results(program, nest::fold_scales(program), 1e-6);
}

TEST(FoldConstants, ComputesWhatIsKnown) {
  std::mt19937 random(11);
  Program program;
  const TensorId x = test::add_tensor(program, F32, {2, 3}, Role::Input);
  program.inputs = {x};
  const TensorId a = test::add_constant(program, F32, {3}, random);
  const TensorId b = test::add_constant(program, DType::F16, {3, 1}, random, 4, 0.1);
  const TensorId c = map(program, program::cast(program::operand(0, DType::F16), F32), {b});
  const TensorId d =
      map(program, call(ScalarOp::Mul, {value(0), value(1)}), {view(program, c, {3}), a});
  program.outputs = {map(program, call(ScalarOp::Add, {value(0), value(1)}), {x, d})};
  const Program folded = nest::fold_constants(program);
  EXPECT_EQ(folded.statements.size(), 1U);
  EXPECT_EQ(folded.tensors.size(), 3U);
  expect_same_results(program, folded, 0);
}

TEST(FoldConstants, FoldsContractionsAndKeepsTypes) {
  std::mt19937 random(12);
  Program program;
  const TensorId x = test::add_tensor(program, DType::F16, {4, 3}, Role::Input);
  program.inputs = {x};
  const TensorId w = test::add_constant(program, DType::F16, {3, 4}, random, 100, 0.01);
  const TensorId turned = test::add_tensor(program, DType::F16, {4, 3});
  program::Contraction body;
  body.agg = program::Agg::Assign;
  body.indices = {"i", "j"};
  body.out = {test::affine(2, {{0, 1}}), test::affine(2, {{1, 1}})};
  body.in = {{w, {test::affine(2, {{1, 1}}), test::affine(2, {{0, 1}})}}};
  program.statements.push_back({turned, body, "Transpose"});
  program.outputs = {map(program,
                         program::call(ScalarOp::Mul, {program::operand(0, DType::F16),
                                                       program::operand(1, DType::F16)}),
                         {x, turned})};
  const Program folded = nest::fold_constants(program);
  EXPECT_EQ(folded.statements.size(), 1U);
  expect_same_results(program, folded, 0);
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(load_element(folded.tensors[1].data->data(), DType::F16, i),
              load_element(program[w].data->data(), DType::F16, (i % 3) * 4 + i / 3));
}

TEST(FoldConstants, KeepsOutputsAndUnknownConstants) {
  std::mt19937 random(13);
  Program program;
  const TensorId a = test::add_constant(program, F32, {3}, random);
  program.outputs = {map(program, value(0), {a})};
  EXPECT_EQ(nest::fold_constants(program).statements.size(), 1U);

  Program unknown;
  const TensorId b = test::add_tensor(unknown, F32, {3}, Role::Constant);
  unknown.outputs = {relu(unknown, map(unknown, value(0), {b}))};
  EXPECT_EQ(nest::fold_constants(unknown).statements.size(), 2U);
}

TEST(FoldConstants, DoesNotBlowUpScalars) {
  std::mt19937 random(14);
  Program program;
  const TensorId x = test::add_tensor(program, F32, {1}, Role::Input);
  program.inputs = {x};
  const TensorId one = test::add_constant(program, F32, {1}, random);
  const TensorId huge = map(program, value(0), {one}, {std::int64_t{1} << 40});
  program.outputs = {map(program, call(ScalarOp::Add, {value(0), value(1)}), {huge, x})};
  EXPECT_EQ(nest::fold_constants(program).statements.size(), 2U);
}

TEST(DropDead, KeepsInputsAndWhatOutputsNeed) {
  std::mt19937 random(15);
  Program program;
  const TensorId t = convolve(program, random, kShape);
  const TensorId unread = test::add_tensor(program, F32, {2}, Role::Input);
  program.inputs.push_back(unread);
  batch_norm(program, t, random);
  program.outputs = {relu(program, t)};
  const Program live = program::drop_dead(program);
  EXPECT_EQ(live.statements.size(), 2U);
  EXPECT_EQ(live.inputs.size(), 2U);
  EXPECT_EQ(live.tensors.size(), 5U);
  expect_same_results(program, live, 0);
}

TEST(EvaluateProgram, NamesTheInputThatDoesNotFit) {
  std::mt19937 random(16);
  Program program;
  program.outputs = {convolve(program, random, kShape)};
  auto inputs = random_inputs(program);
  EXPECT_THROW(nest::evaluate_program(program, {}), Error);
  auto &x = inputs.begin()->second;
  x.shape[0] = 1;
  EXPECT_THROW(nest::evaluate_program(program, inputs), Error);
  x.shape[0] = 2;
  x.type = DType::F16;
  EXPECT_THROW(nest::evaluate_program(program, inputs), Error);
}

} // namespace
} // namespace tilefuse
