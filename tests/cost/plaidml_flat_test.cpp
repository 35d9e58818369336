// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cost/plaidml/plaidml_flat.h"
#include "plaidml_fixture.h"

namespace tilefuse::cost::plaidml {
namespace {

using test::flat_of;
using test::kernels_of;

constexpr cost::plaidml::Settings kVector4 = {.threads = 128,
                                              .mem_width = 256,
                                              .max_mem = 16000,
                                              .max_regs = 16000,
                                              .goal_groups = 6,
                                              .goal_flops_per_byte = 50,
                                              .vec_size = 4};

TEST(PlaidmlSimplify, ContiguousIndicesOfAllTensorsFuse) {
  Flat flat = flat_of({4, 5, 6}, {{30, 6, 1}, {30, 6, 1}});
  flat.names = {"n", "x", "y"};
  const Flat simple = simplify(flat);
  EXPECT_EQ(simple.names, (std::vector<std::string>{"n_x_y"}));
  EXPECT_EQ(simple.ranges, (Tile{120}));
  EXPECT_EQ(simple.accesses[1].strides, (Tile{1}));
}

TEST(PlaidmlSimplify, ATensorThatDoesNotUseTheIndicesBlocks) {
  // Both strides 0 would be just as safe, but are not taken.
  const Flat flat = flat_of({4, 5, 6}, {{30, 6, 1}, {0, 0, 1}});
  EXPECT_EQ(simplify(flat), flat);
  const Flat other_order = flat_of({4, 5}, {{5, 1}, {1, 4}});
  EXPECT_EQ(simplify(other_order), other_order);
  Flat post = flat_of({4, 5}, {{5, 1}});
  post.post_inputs = {post.accesses[0]};
  EXPECT_EQ(simplify(post).ranges, (Tile{20}));
  post.post_inputs[0].strides = {0, 1};
  EXPECT_EQ(simplify(post), post);
}

TEST(PlaidmlSimplify, LimitsBlock) {
  Flat flat = flat_of({4, 5}, {{5, 1}, {5, 1}});
  flat.limits = {{{1, 1}, 7}};
  EXPECT_EQ(simplify(flat), flat);
}

TEST(PlaidmlSimplify, ReducedIndicesNeverFuse) {
  const Flat flat = flat_of({4, 5, 6}, {{1, 0, 0}, {30, 6, 1}});
  EXPECT_EQ(simplify(flat), flat);
}

TEST(PlaidmlSimplify, AnIndexOfOnePointVanishes) {
  const Flat flat = flat_of({1, 5, 6}, {{30, 6, 1}, {30, 6, 1}});
  EXPECT_EQ(simplify(flat).ranges, (Tile{30}));
  EXPECT_EQ(simplify(flat).names, (std::vector<std::string>{"b_c"}));
  const Flat broadcast = flat_of({1, 5}, {{5, 1}, {0, 1}});
  EXPECT_EQ(simplify(broadcast), broadcast);
}

TEST(PlaidmlVectorize, DepthwiseConvolutionsWithoutPaddingTakeVectorsOfChannels) {
  const Flat flat = kernels_of("function f(I[N, X, Y, C], K[P, Q, C]) -> (O) {\n"
                               "  O[n, x, y, c : N, X - 2, Y - 2, C] =\n"
                               "      +(I[n, x + i, y + j, c] * K[i, j, c]);\n}\n",
                               {{"I", {1, 6, 7, 16}}, {"K", {3, 3, 16}}})
                        .at(0)
                        .flat;
  const Flat wide = vectorize(flat, kVector4);
  EXPECT_EQ(wide.names, (std::vector<std::string>{"c", "i", "j", "x", "y"}));
  EXPECT_EQ(wide.ranges, (Tile{4, 3, 3, 4, 5}));
  EXPECT_EQ(wide.accesses[0].vector, 4);
  EXPECT_EQ(wide.accesses[0].strides, (Tile{1, 0, 0, 20, 4}));
  EXPECT_EQ(wide.accesses[0].size, 4 * 5 * 4);
  EXPECT_EQ(wide.accesses[1].strides, (Tile{1, 28, 4, 28, 4}));
  EXPECT_EQ(wide.accesses[2].vector, 4);
}

TEST(PlaidmlVectorize, PointwiseConvolutionsStayAsTheyAre) {
  // The input's channels have stride 1 and are not the result's.
  const Flat flat = kernels_of("function f(I[N, X, Y, C], K[C, M]) -> (O) {\n"
                               "  O[n, x, y, m : N, X, Y, M] = +(I[n, x, y, c] * K[c, m]);\n}\n",
                               {{"I", {1, 6, 7, 8}}, {"K", {8, 16}}})
                        .at(0)
                        .flat;
  EXPECT_EQ(vectorize(flat, kVector4), flat);
}

TEST(PlaidmlVectorize, InputsThatAVectorDoesNotMoveStayNarrow) {
  const Flat flat = [] {
    Flat outer = flat_of({8, 8}, {{8, 1}, {4, 0}, {0, 1}});
    outer.accesses[0].size = 64;
    outer.accesses[1].size = 32;
    outer.accesses[2].size = 8;
    return outer;
  }();
  const Flat wide = vectorize(flat, kVector4);
  EXPECT_EQ(wide.accesses[0].vector, 4);
  EXPECT_EQ(wide.accesses[1], flat.accesses[1]);
  EXPECT_EQ(wide.accesses[2].size, 2);
}

TEST(PlaidmlVectorize, InputsMustStepByWholeVectors) {
  // The input's c has stride 1 and is not the result's fastest index.
  const Flat flat = flat_of({8, 4}, {{0, 1}, {1, 8}, {4, 1}});
  EXPECT_EQ(vectorize(flat, kVector4), flat);
}

TEST(PlaidmlVectorize, LimitsOffsetsSizesAndWideTypesBlock) {
  Flat flat = flat_of({8, 8}, {{8, 1}, {8, 1}});
  for (Access &access : flat.accesses)
    access.size = 64;
  EXPECT_EQ(vectorize(flat, kVector4).accesses[0].vector, 4);
  Flat limited = flat;
  limited.limits = {{{1, 1}, 9}};
  EXPECT_EQ(vectorize(limited, kVector4), limited);
  Flat offset = flat;
  offset.accesses[1].offset = 1;
  EXPECT_EQ(vectorize(offset, kVector4), offset);
  Flat odd = flat;
  odd.accesses[1].size = 65;
  EXPECT_EQ(vectorize(odd, kVector4), odd);
  Flat wide = flat;
  wide.accesses[1].element_bytes = 8;
  EXPECT_EQ(vectorize(wide, kVector4), wide);
  Flat post = flat;
  post.post_inputs = {flat.accesses[0]};
  post.post_inputs[0].size = 66;
  EXPECT_EQ(vectorize(post, kVector4).accesses[0].vector, 2);
}

TEST(PlaidmlVectorize, HalfTheWidthIsTriedNext) {
  Flat flat = flat_of({8, 6}, {{6, 1}, {6, 1}});
  for (Access &access : flat.accesses)
    access.size = 48;
  const Flat wide = vectorize(flat, kVector4);
  EXPECT_EQ(wide.accesses[0].vector, 2);
  EXPECT_EQ(wide.ranges, (Tile{8, 3}));
  Flat odd = flat_of({8, 5}, {{5, 1}, {5, 1}});
  EXPECT_EQ(vectorize(odd, kVector4), odd);
}

TEST(PlaidmlPrepare, SimplifiesBeforeVectorising) {
  Flat flat = flat_of({2, 2, 3}, {{6, 3, 1}, {6, 3, 1}});
  for (Access &access : flat.accesses)
    access.size = 12;
  const Flat prepared = prepare(flat, kVector4);
  EXPECT_EQ(prepared.ranges, (Tile{3}));
  EXPECT_EQ(prepared.accesses[0].vector, 4);
}

} // namespace
} // namespace tilefuse::cost::plaidml
