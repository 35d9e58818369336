// SPDX-License-Identifier: Apache-2.0
// Which indices merge. That merging changes no result is tested on random contractions as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "nest/convolution.h"
#include "nest/flatten/flatten.h"
#include "nest/flatten/merge.h"
#include "nest/stored.h"

namespace tilefuse {
namespace {

using program::Program;
using program::Role;
using program::Shape;
using program::StoredProgram;
using program::TensorId;

std::string indices_line(const nest::Nest &nest) {
  const std::string text = nest::to_text(nest);
  const std::size_t begin = text.find("index");
  return text.substr(begin, text.find('\n', begin) - begin);
}

nest::Nest merged(const StoredProgram &stored) {
  return nest::merge_indices(nest::flatten(stored, stored.program.statements[0]).at(0).nest);
}

TEST(Merge, PointwiseConvolutionHasOnePixelIndex) {
  StoredProgram stored = test::row_major_storage(test::convolution_program(
      {.batch = 2, .in = 16, .out = 8, .height = 7, .width = 5, .kernel = 1, .pad = 0}));
  test::make_channels_last(stored, TensorId{0});
  test::make_channels_last(stored, TensorId{2});
  const nest::Nest nest = merged(stored);
  EXPECT_EQ(indices_line(nest), "index n_y_x 70, m 8 | c 16");
  nest::verify(nest);
}

TEST(Merge, GuardsBlockPixelsButReductionsMerge) {
  StoredProgram stored = test::row_major_storage(
      test::convolution_program({.in = 16, .out = 8, .height = 7, .width = 5}));
  EXPECT_EQ(indices_line(merged(stored)), "index m 8, y 7, x 5 | c 16, r 3, s 3");

  // A filter as large as the image: every index of the filter runs through both operands
  // contiguously.
  const StoredProgram whole = test::row_major_storage(test::convolution_program(
      {.in = 16, .out = 8, .height = 3, .width = 3, .kernel = 3, .pad = 0}));
  EXPECT_EQ(indices_line(merged(whole)), "index m 8 | c_r_s 144");
}

TEST(Merge, MapsBecomeOneDimensional) {
  Program program;
  const TensorId x = test::add_tensor(program, DType::F32, {2, 3, 4, 5}, Role::Input);
  const TensorId out = test::add_tensor(program, DType::F32, {2, 3, 4, 5});
  const program::Expr expr = program::call(
      ScalarOp::Max, {program::operand(0, DType::F32), program::constant(0, DType::F32)});
  program.statements.push_back({out, program::Map{expr, {x}}, "Relu"});
  StoredProgram stored = test::row_major_storage(program);
  EXPECT_EQ(indices_line(merged(stored)).substr(0, 6), "index ");
  EXPECT_EQ(merged(stored).indices.size(), 1U);
  test::make_channels_last(stored, x);
  test::make_channels_last(stored, out);
  EXPECT_EQ(merged(stored).indices.size(), 1U);
  EXPECT_EQ(merged(stored).indices[0].extent, 120);
  stored.windows[1].strides = program::row_major({2, 3, 4, 5});
  EXPECT_EQ(merged(stored).indices.size(), 3U);
}

TEST(Merge, BroadcastOperandsKeepTheirIndex) {
  Program program;
  const TensorId x = test::add_tensor(program, DType::F32, {2, 3, 4, 5}, Role::Input);
  const TensorId bias = test::add_tensor(program, DType::F32, {3, 1, 1}, Role::Constant);
  const TensorId out = test::add_tensor(program, DType::F32, {2, 3, 4, 5});
  const program::Expr expr = program::call(
      ScalarOp::Add, {program::operand(0, DType::F32), program::operand(1, DType::F32)});
  program.statements.push_back({out, program::Map{expr, {x, bias}}, "Add"});
  const nest::Nest nest = merged(test::row_major_storage(program));
  EXPECT_EQ(indices_line(nest), "index d0 2, d1 3, d2_d3 20");
}

TEST(Merge, GapsBetweenRowsBlock) {
  Program program;
  const TensorId x = test::add_tensor(program, DType::F32, {4, 5}, Role::Input);
  const TensorId out = test::add_tensor(program, DType::F32, {4, 5});
  program.statements.push_back(
      {out, program::Map{program::operand(0, DType::F32), {x}}, "Identity"});
  StoredProgram stored = test::row_major_storage(program);
  EXPECT_EQ(merged(stored).indices.size(), 1U);
  stored.windows[0].strides = {6, 1};
  stored.buffers[0].elems = 24;
  EXPECT_EQ(merged(stored).indices.size(), 2U);
}

// The same map over tensors of random orders of dimensions, before and after merging.
TEST(Merge, RandomMapsKeepTheirValues) {
  int merges = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Program program;
    Shape shape;
    for (unsigned d = 1 + random() % 4; d > 0; --d)
      shape.push_back(1 + random() % 4);
    Shape partial = shape;
    if (random() % 2 == 0)
      partial[random() % partial.size()] = 1;
    const TensorId a = test::add_tensor(program, DType::F32, shape, Role::Input);
    const TensorId b = test::add_tensor(program, DType::F32, partial, Role::Input);
    const TensorId out = test::add_tensor(program, DType::F32, shape);
    const program::Expr expr = program::call(
        ScalarOp::Sub, {program::operand(0, DType::F32), program::operand(1, DType::F32)});
    program.statements.push_back({out, program::Map{expr, {a, b}}, "Sub"});
    StoredProgram stored = test::row_major_storage(program);
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t t = 0; t < 3; ++t) {
      if (random() % 4 == 0)
        continue;
      std::int64_t stride = 1;
      for (std::size_t d : order) {
        stored.windows[t].strides[d] = stride;
        stride *= stored.program.tensors[t].shape[d];
      }
    }
    test::Memory memory(stored);
    test::for_each_point(
        shape, [&](const Shape &at) { memory.set(a, at, static_cast<double>(random() % 100)); });
    test::for_each_point(
        partial, [&](const Shape &at) { memory.set(b, at, static_cast<double>(random() % 100)); });
    const auto flats = nest::flatten(stored, stored.program.statements[0]);
    const nest::Nest merged = nest::merge_indices(flats.at(0).nest);
    merges += merged != flats[0].nest ? 1 : 0;
    memory.run(flats[0], merged);
    test::for_each_point(shape, [&](const Shape &at) {
      Shape from = at;
      for (std::size_t d = 0; d < from.size(); ++d)
        from[d] = partial[d] == 1 ? 0 : from[d];
      EXPECT_EQ(memory.get(out, at), memory.get(a, at) - memory.get(b, from)) << "seed " << seed;
    });
  }
  EXPECT_GT(merges, 50);
}

} // namespace
} // namespace tilefuse
