// SPDX-License-Identifier: Apache-2.0
// Which operations become one kernel, and what its table says.
#include <gtest/gtest.h>

#include "cost/plaidml/plaidml_kernels.h"
#include "plaidml_fixture.h"

namespace tilefuse::cost::plaidml {
namespace {

using test::kernels_of;
using Names = std::vector<std::string>;

const std::string kPointwiseConv = "  O[n, x, y, m : N, X, Y, M] = +(I[n, x, y, c] * K[c, m]);\n";

TEST(PlaidmlKernels, BatchNormAndReluJoinTheConvolution) {
  const auto all = kernels_of("function f(I[N, X, Y, C], K[C, M], S[M], B[M]) -> (R) {\n" +
                                  kPointwiseConv + "  T = O * S + B;\n  R = max(T, 0);\n}\n",
                              {{"I", {1, 5, 6, 7}}, {"K", {7, 8}}, {"S", {8}}, {"B", {8}}});
  ASSERT_EQ(all.size(), 1U);
  const Flat &flat = all[0].flat;
  EXPECT_EQ(flat.post_ops, 4); // mul, add, cmp_lt, cond
  EXPECT_EQ(all[0].outputs, (Names{"R"}));
  ASSERT_EQ(flat.post_inputs.size(), 2U);
  EXPECT_EQ(flat.names, (Names{"c", "m", "x", "y"})); // n has one point
  EXPECT_EQ(flat.post_inputs[0].name, "S");
  EXPECT_EQ(flat.post_inputs[0].strides, (Tile{0, 1, 0, 0}));
}

TEST(PlaidmlKernels, ResidualsHaveTheResultsStrides) {
  const auto all = kernels_of("function f(I[N, X, Y, C], K[C, M], A) -> (R) {\n" + kPointwiseConv +
                                  "  R = O + A;\n}\n",
                              {{"I", {2, 5, 6, 7}}, {"K", {7, 8}}, {"A", {2, 5, 6, 8}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].flat.post_inputs.at(0).strides, all[0].flat.accesses[0].strides);
  EXPECT_EQ(all[0].flat.post_ops, 1);
}

TEST(PlaidmlKernels, ResultsThatOthersReadAreWrittenToo) {
  const auto all =
      kernels_of("function f(I[N, X, Y, C], K[C, M], L[M, C]) -> (R, P) {\n" + kPointwiseConv +
                     "  R = O > 0 ? O : 0;\n"
                     "  P[n, x, y, c : N, X, Y, C] = +(O[n, x, y, m] * L[m, c]);\n}\n",
                 {{"I", {1, 5, 6, 7}}, {"K", {7, 8}}, {"L", {8, 7}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].outputs, (Names{"O", "R"}));
  EXPECT_EQ(all[0].flat.kernel_outputs, 2);
  EXPECT_EQ(all[1].outputs, (Names{"P"}));
}

TEST(PlaidmlKernels, AMeanIsASumAndADivision) {
  const auto all = kernels_of("function f(I[N, X, Y, C]) -> (R) {\n"
                              "  T[n, c : N, C] = +(I[n, x, y, c]);\n  R = T / (X*Y);\n}\n",
                              {{"I", {1, 7, 7, 1024}}});
  ASSERT_EQ(all.size(), 1U);
  const Flat &flat = all[0].flat;
  EXPECT_EQ(flat.names, (Names{"c", "x", "y"}));
  EXPECT_EQ(flat.accesses.size(), 2U);
  EXPECT_EQ(flat.post_ops, 1);
  EXPECT_TRUE(flat.is_contraction);
  EXPECT_TRUE(flat.limits.empty());
}

TEST(PlaidmlKernels, StridedWindowsWithPadding) {
  const auto all = kernels_of("function f(I[N, X, Y, C]) -> (O) {\n"
                              "  O[n, x, y, c : N, (X + 1)/2, (Y + 1)/2, C] =\n"
                              "      >(I[n, 2*x + i - 1, 2*y + j - 1, c]), i < 3, j < 3;\n}\n",
                              {{"I", {1, 112, 112, 64}}});
  ASSERT_EQ(all.size(), 1U);
  const Flat &flat = all[0].flat;
  EXPECT_EQ(flat.names, (Names{"c", "i", "j", "x", "y"}));
  EXPECT_EQ(flat.ranges, (Tile{64, 3, 3, 56, 56}));
  EXPECT_EQ(flat.accesses[1].strides, (Tile{1, 7168, 64, 14336, 128}));
  EXPECT_EQ(flat.accesses[1].offset, -7232);
  // Only the low sides can fail: 2 * 55 + 2 - 1 = 111.
  EXPECT_EQ(flat.limits, (std::vector<Limit>{{{0, 0, -1, 0, -2}, -1}, {{0, -1, 0, -2, 0}, -1}}));
}

TEST(PlaidmlKernels, RangesAreExact) {
  // The window reaches points 0..3 of the input only for x in 1..4, shifted to 0..3.
  const auto all = kernels_of("function f(I[N]) -> (O) {\n"
                              "  O[x : 8] = +(I[x + i - 2]), i < 2;\n}\n",
                              {{"I", {4}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].flat.names, (Names{"i", "x"}));
  EXPECT_EQ(all[0].flat.ranges, (Tile{2, 5})); // x in 1..5
  EXPECT_EQ(all[0].flat.accesses[0].offset, 1);
  EXPECT_TRUE(all[0].clears_first);
}

TEST(PlaidmlKernels, ResultsThatAreNotWrittenWholeTakeNothingAlong) {
  const auto all = kernels_of("function f(I[N]) -> (R) {\n"
                              "  O[2*x : 2*N] = +(I[x]);\n  R = O + 1;\n}\n",
                              {{"I", {16}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].clears_first);
  EXPECT_EQ(all[0].flat.post_ops, 0);
  EXPECT_FALSE(all[1].flat.is_contraction);
  EXPECT_EQ(all[1].flat.post_ops, 1);
}

TEST(PlaidmlKernels, ElementWiseKernelsKeepEveryDimension) {
  const auto all = kernels_of("function f(A, B, S) -> (R) { R = (A + B) * S; }\n",
                              {{"A", {1, 5, 6, 8}}, {"B", {1, 5, 6, 8}}, {"S", {8}}});
  ASSERT_EQ(all.size(), 1U);
  const Flat &flat = all[0].flat;
  EXPECT_EQ(flat.names, (Names{"i1", "i2", "i3", "i4"}));
  EXPECT_EQ(flat.ranges, (Tile{1, 5, 6, 8}));
  EXPECT_EQ(flat.accesses.size(), 1U);
  EXPECT_EQ(flat.post_ops, 2);
  EXPECT_EQ(flat.post_inputs.size(), 3U);
  EXPECT_EQ(flat.post_inputs[2].strides, (Tile{0, 0, 0, 1}));
  EXPECT_EQ(simplify(flat).ranges, flat.ranges); // S blocks
}

TEST(PlaidmlKernels, OperationsOfAnotherSizeBeginTheirOwnKernel) {
  // R's root has 12 elements; A * A has 3 and comes first.
  const auto all = kernels_of("function f(A[N], B[M, N]) -> (R) { R = A*A + B; }\n",
                              {{"A", {3}}, {"B", {4, 3}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].post_ops, (Names{"X_T1 = mul(A, A)"}));
  EXPECT_EQ(all[1].post_ops, (Names{"R = add(X_T1, B)"}));
}

TEST(PlaidmlKernels, BroadcastsMustBeRightAligned) {
  // [M] against a result [G, M, 2]: no fusion with a result of rank 2 and as many elements.
  const auto all = kernels_of("function f(I[C, M], K[C, M], S[M]) -> (R) {\n"
                              "  O[m, c : M, C] = +(I[c, m] * K[c, m]);\n"
                              "  R = reshape(O, C, M) * S;\n}\n",
                              {{"I", {3, 5}}, {"K", {3, 5}}, {"S", {5}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].flat.post_ops, 0);
  EXPECT_FALSE(all[1].flat.is_contraction);
}

TEST(PlaidmlKernels, ViewsOfInputsAreInputs) {
  const auto all = kernels_of("function f(I[C, M], K[C, M], S[M]) -> (R) {\n"
                              "  O[c, m : C, M] = +(I[c, m] * K[c, m]);\n"
                              "  R = O + reshape(S, 1, M);\n}\n",
                              {{"I", {3, 5}}, {"K", {3, 5}}, {"S", {5}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].flat.post_inputs.at(0).strides, (Tile{0, 1}));
}

TEST(PlaidmlKernels, ReshapesOfResultsCostNothing) {
  const auto all = kernels_of("function f(I[N, C], K[C, M]) -> (R) {\n"
                              "  O[n, m : N, M] = +(I[n, c] * K[c, m]);\n"
                              "  P = reshape(O, M, N);\n  R = P + 1;\n}\n",
                              {{"I", {4, 5}}, {"K", {5, 6}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].flat.post_ops, 1);
  EXPECT_EQ(all[0].outputs, (Names{"R"}));
}

TEST(PlaidmlKernels, OperationsOfInputsAloneJoinTheFirstKernelThatReadsTheseInputs) {
  // I + 1 reads an input of the contraction and has its result's size.
  const auto all = kernels_of("function f(I[N, C], K[C, C]) -> (O, R) {\n"
                              "  O[n, m : N, C] = +(I[n, c] * K[c, m]);\n"
                              "  R = I + 1;\n}\n",
                              {{"I", {4, 5}}, {"K", {5, 5}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].outputs, (Names{"O", "R"}));
  EXPECT_EQ(all[0].flat.post_inputs.size(), 1U);
}

TEST(PlaidmlKernels, OperationsAreTakenOnce) {
  const auto all = kernels_of("function f(I[N, C], K[C, C]) -> (R, O) {\n"
                              "  R = I + 1;\n"
                              "  O[n, m : N, C] = +(I[n, c] * K[c, m]);\n}\n",
                              {{"I", {4, 5}}, {"K", {5, 5}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].outputs, (Names{"R"}));
  EXPECT_EQ(all[1].flat.post_ops, 0);
}

TEST(PlaidmlKernels, WhatEarlierKernelsMakeIsRead) {
  // P joins the first contraction though it stands behind the second, which then reads it.
  const auto all = kernels_of("function f(I[N, C], K[C, C]) -> (Q) {\n"
                              "  O[n, m : N, C] = +(I[n, c] * K[c, m]);\n"
                              "  T[n, m : N, C] = +(I[n, c] * K[m, c]);\n"
                              "  P = O + 1;\n"
                              "  Q = T * P;\n}\n",
                              {{"I", {4, 5}}, {"K", {5, 5}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].outputs, (Names{"P"}));
  EXPECT_EQ(all[1].post_ops, (Names{"Q = mul(T, P)"}));
  EXPECT_EQ(all[1].flat.post_inputs.size(), 1U);
}

TEST(PlaidmlKernels, WhatStandsBeforeIsReadThoughNothingTookIt) {
  const auto all = kernels_of("function f(I[N], J[M, K]) -> (Q) {\n"
                              "  Z[2*x : 2*N] = +(I[x]);\n"
                              "  O[m : M] = +(J[m, k]);\n"
                              "  Q = O + Z;\n}\n",
                              {{"I", {8}}, {"J", {16, 3}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].post_ops, (Names{"Q = add(O, Z)"}));
}

TEST(PlaidmlKernels, ARenamedInputIsNoResult) {
  // O is cleared first and takes nothing along; P is another name of it.
  const auto all = kernels_of("function f(I[N], K[M, N]) -> (R, Q) {\n"
                              "  O[2*x : 2*N] = +(I[x]);\n"
                              "  P = reshape(O, 2, N);\n"
                              "  R = P + 1;\n"
                              "  Q[m : M] = +(P[0, n] * K[m, n]);\n}\n",
                              {{"I", {16}}, {"K", {3, 16}}});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].post_ops, (Names{"R = add(O, 1)"}));
  EXPECT_EQ(all[1].outputs, (Names{"R"}));
}

TEST(PlaidmlKernels, ADimensionOfOnePointOfAResultOfOnePointIsWalked) {
  const auto all =
      kernels_of("function f(A, S) -> (R) { R = A + S; }\n", {{"A", {1, 8}}, {"S", {1, 1}}});
  EXPECT_EQ(all.at(0).flat.post_inputs.at(1).strides, (Tile{1, 0}));
}

TEST(PlaidmlKernels, OperationsAreCountedAsPlaidmlInlinesThem) {
  const auto count = [](const std::string &expression) {
    return kernels_of("function f(A) -> (R) { R = " + expression + "; }\n", {{"A", {4}}})
        .at(0)
        .flat.post_ops;
  };
  EXPECT_EQ(count("A > 0 ? A : 0"), 2);
  EXPECT_EQ(count("max(A, 0)"), 2);
  EXPECT_EQ(count("min(max(A, 0), 6)"), 4);
  EXPECT_EQ(count("abs(A)"), 3);
  EXPECT_EQ(count("1 / (1 + exp(-A))"), 4);
  EXPECT_EQ(count("A * 2 + 3"), 2);
  EXPECT_EQ(count("cast_f16(A)"), 1);
}

TEST(PlaidmlKernels, TypesSetTheBytes) {
  const auto all = kernels_of("function f(I[N, C], K[C, M]) -> (O) {\n"
                              "  O[n, m : N, M] = +(I[n, c] * K[c, m]);\n}\n",
                              {{"I", {4, 5}}, {"K", {5, 6}}}, DType::F16);
  EXPECT_EQ(all.at(0).flat.accesses[0].element_bytes, 2);
}

TEST(PlaidmlKernels, NamesThatRepeatAreNumbered) {
  const auto all = kernels_of("function one(X) -> (Y) { Y = X + 1; }\n"
                              "function f(A[N]) -> (R) { B = one(A); C = one(B); R = C * B; }\n",
                              {{"A", {4}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].post_ops, (Names{"Y = add(A, 1)", "Y_2 = add(Y, 1)", "R = mul(Y_2, Y)"}));
}

TEST(PlaidmlKernels, DepthwiseConvolutionsHaveFiveDimensions) {
  const auto all = kernels_of("function f(I[N, X, Y, G], K[I0, J0, G, M]) -> (O) {\n"
                              "  O[n, x, y, g, m : N, X, Y, G, M] =\n"
                              "      +(I[n, x + i - 1, y + j - 1, g] * K[i, j, g, m]);\n}\n",
                              {{"I", {1, 14, 14, 512}}, {"K", {3, 3, 512, 1}}});
  const Flat &flat = all.at(0).flat;
  EXPECT_EQ(flat.names, (Names{"g", "i", "j", "x", "y"}));
  EXPECT_EQ(flat.accesses[0].strides, (Tile{1, 0, 0, 7168, 512}));
  EXPECT_EQ(flat.accesses[2].strides, (Tile{1, 1536, 512, 0, 0}));
}

} // namespace
} // namespace tilefuse::cost::plaidml
