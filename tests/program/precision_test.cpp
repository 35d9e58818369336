// SPDX-License-Identifier: Apache-2.0
// Programs stored in f16 and bf16: what is converted, what stays, and how it reads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "program/host_tensor.h"
#include "program/precision/precision.h"
#include "program/reference.h"

namespace tilefuse::program {
namespace {

Program with_data(const char *text, double weight = 0.5) {
  Program program = parse_program(text);
  for (Tensor &tensor : program.tensors) {
    if (tensor.role != Role::Constant)
      continue;
    HostTensor data = make_host_tensor("", tensor.type, tensor.shape);
    for (std::int64_t i = 0; i < elems(tensor.shape); ++i)
      set(data, i, weight);
    tensor.data = std::make_shared<const Bytes>(std::move(data.data));
  }
  return program;
}

constexpr const char *kConv = R"(program "p" {
  input %0 "x" : f32[1, 3, 8]
  const %1 "w" : f32[4, 3]
  const %2 "b" : f32[4, 1]
  const %3 "v" : f32[2, 4]
  %4 "t" : f32[1, 4, 8] = sum[n, m, x, c](%0[n, c, x] * %1[m, c]) -> [n, m, x] from "Conv"
  %5 "r" : f32[1, 4, 8] = map[%4, %2](max($0 + $1, 0)) from "Relu"
  %6 "y" : f32[1, 2, 8] = sum[n, m, x, c](%5[n, c, x] * %3[m, c]) -> [n, m, x] from "Conv2"
  output %6
})";

TEST(Precision, WeightsAndActivationsAreStoredBiasesAndOutputsKeepF32) {
  const Precision half = with_precision(with_data(kConv), DType::F16);
  EXPECT_EQ(testing::lines_of(half.program), R"(program "p" {
  input %0 "x" : f32[1, 3, 8]
  const %1 "b" : f32[4, 1]
  const %6 "w" : f16[4, 3]
  const %7 "v" : f16[2, 4]
  %5 "x" : f16[1, 3, 8] = map[%0](f16($0)) from "precision"
  %2 "t" : f16[1, 4, 8] = sum[n, m, x, c](%5[n, c, x] * %6[m, c]) -> [n, m, x] from "Conv"
  %3 "r" : f16[1, 4, 8] = map[%2, %1](f16(max(f32($0) + $1, 0))) from "Relu"
  %4 "y" : f32[1, 2, 8] = sum[n, m, x, c](%3[n, c, x] * %7[m, c]) -> [n, m, x] from "Conv2"
  output %4
}
)");
  EXPECT_EQ(half.weights, 2);
  EXPECT_EQ(half.activations, 2);
  EXPECT_EQ(half.casts, 1);
  EXPECT_EQ(half.weight_bytes * 2, half.f32_weight_bytes);
  EXPECT_EQ(half.kept, std::vector<std::string>{"Conv2 \"y\": f32[1, 2, 8], an output"});
  EXPECT_EQ(with_precision(with_data(kConv), DType::BF16).program[TensorId{2}].type, DType::BF16);
}

constexpr const char *kSoftmax = R"(program "p" {
  input %0 "x" : f32[2, 5]
  const %1 "w" : f32[5, 5]
  %2 "t" : f32[2, 5] = sum[o, a, b](%0[o, b] * %1[b, a]) -> [o, a] from "Gemm"
  %3 "m" : f32[2, 1] = max[o, a](%2[o, a]) -> [o, 0] from "Softmax"
  %4 "e" : f32[2, 5] = map[%2, %3](exp($0 - $1)) from "Softmax"
  %5 "s" : f32[2, 1] = sum[o, a](%4[o, a]) -> [o, 0] from "Softmax"
  %6 "y" : f32[2, 5] = map[%4, %5]($0 / $1) from "Softmax"
  %7 "z" : f32[2, 5] = sum[o, a, b](%6[o, b] * %1[b, a]) -> [o, a] from "Gemm2"
  output %6
  output %7
})";

DType type_of(const Precision &stored, const char *name) {
  for (const Tensor &tensor : stored.program.tensors)
    if (tensor.name == name && tensor.role == Role::Temporary)
      return tensor.type;
  return DType::Bool;
}

TEST(Precision, StatisticsAndWhatLiesBetweenThemKeepF32) {
  const Precision half = with_precision(with_data(kSoftmax), DType::F16);
  EXPECT_EQ(type_of(half, "t"), DType::F16);
  EXPECT_EQ(type_of(half, "m"), DType::F16); // a value that was stored before
  EXPECT_EQ(type_of(half, "e"), DType::F32);
  EXPECT_EQ(type_of(half, "s"), DType::F32);
  EXPECT_EQ(type_of(half, "y"),
            DType::F16); // read inside, so that the output is a conversion of it
  EXPECT_EQ(half.program[half.program.outputs[0]].type, DType::F32);
  EXPECT_EQ(half.program[half.program.outputs[0]].name, "y");
  EXPECT_EQ(half.casts, 2);
  const std::string text = to_text(half);
  EXPECT_NE(text.find("between the statistics"), std::string::npos) << text;
  EXPECT_NE(text.find("a statistic: a sum"), std::string::npos) << text;
}

// A pooling that a product reads, at once or through a view, is data of it; a sum of many is a
// statistic.
TEST(Precision, PooledDataOfProductsIsStored) {
  const Precision half = with_precision(with_data(R"(program "p" {
  input %0 "x" : f32[2, 6, 8]
  const %1 "w" : f32[4, 6]
  %2 "pool" : f32[2, 6, 4] = sum[n, c, x, i](%0[n, c, 2*x + i]) -> [n, c, x] where 0 <= i < 2
  %3 "y" : f32[2, 4, 4] = sum[n, m, x, c](%2[n, c, x] * %1[m, c]) -> [n, m, x]
  %4 "two" : f32[2, 6, 4] = sum[n, c, x, i](%0[n, c, 2*x + i]) -> [n, c, x] where 0 <= i < 2
  %5 "view" : f32[12, 4] = view(%4)
  %6 "z" : f32[6, 12] = sum[m, n, x](%5[n, x] * %0[0, m, x]) -> [m, n]
  %7 "many" : f32[6] = sum[c, n, x](%0[n, c, x]) -> [c]
  %8 "v" : f32[4] = sum[m, c](%7[c] * %1[m, c]) -> [m]
  output %3
  output %6
  output %8
})"),
                                        DType::F16);
  EXPECT_EQ(type_of(half, "pool"), DType::F16);
  EXPECT_EQ(type_of(half, "two"), DType::F16);
  EXPECT_EQ(type_of(half, "many"), DType::F32);
}

TEST(Precision, WeightsBeyondTheRangeAndOtherTypesStay) {
  const Precision half = with_precision(with_data(kConv, 70000), DType::F16);
  EXPECT_EQ(half.weights, 0);
  EXPECT_NE(to_text(half).find("constant \"w\": f32[4, 3], a weight beyond the type's range"),
            std::string::npos);
  EXPECT_EQ(with_precision(with_data(kConv, 70000), DType::BF16).weights, 2);
  const Program whole = with_data(R"(program "p" {
  input %0 "x" : i32[4]
  %1 "y" : i32[4] = map[%0]($0 + 1)
  output %1
})");
  EXPECT_EQ(to_text(with_precision(whole, DType::F16).program), to_text(whole));
}

// Pieces of a concatenation are written where they go, so all have one type.
TEST(Precision, TensorsThatShareMemoryAgree) {
  const Program joined = with_data(R"(program "p" {
  input %0 "x" : f32[1, 4, 8]
  const %1 "w" : f32[4, 4]
  %2 "a" : f32[1, 4, 8] = sum[n, m, x, c](%0[n, c, x] * %1[m, c]) -> [n, m, x]
  %3 "p" : f32[1, 8, 8] = assign[n, c, x](%2[n, c, x]) -> [n, c, x]
  %4 "q" : f32[1, 8, 8] = assign[n, c, x](%0[n, c, x]) -> [n, c + 4, x] init %3
  %5 "v" : f32[8, 8] = view(%4)
  output %5
})");
  const Precision half = with_precision(joined, DType::F16);
  EXPECT_EQ(half.activations, 0);
  EXPECT_EQ(half.casts, 1);
  for (const Statement &statement : half.program.statements)
    if (statement.origin != "precision") {
      EXPECT_EQ(half.program[statement.out].type, DType::F32);
    }
}

// Each piece is small beside the whole, which is no reason to keep f32, whatever reads it.
TEST(Precision, PiecesOfAConcatenationAreNotSpread) {
  std::string text = R"(program "p" {
  input %0 "x" : f32[3, 2, 32]
  const %1 "w" : f32[16, 4]
  %2 "whole" : f32[3, 2, 16] = assign[n, p, x](%0[n, p, x]) -> [n, p, x]
)";
  for (int piece = 0; piece < 16; ++piece)
    text += fmt::format(
        "  %{} \"piece\" : f32[3, 2, 1] = assign[n, p, x](%0[n, p, x + {}]) -> [n, p, x]\n"
        "  %{} \"whole\" : f32[3, 2, 16] = assign[n, p, x](%{}[n, p, x]) -> [n, p, x + {}] init "
        "%{}\n",
        3 + 2 * piece, piece, 4 + 2 * piece, 3 + 2 * piece, piece, 2 + 2 * piece);
  for (const char *reader :
       {R"(f32[3, 2, 4] = sum[n, p, m, c](%34[n, p, c] * %1[c, m]) -> [n, p, m])",
        "f32[3, 2, 16] = map[%34](max($0, 0))"}) {
    const std::string whole = text + "  %35 \"y\" : " + reader + "\n  output %35\n}";
    const Precision half = with_precision(with_data(whole.c_str()), DType::F16);
    EXPECT_EQ(type_of(half, "whole"), DType::F16) << to_text(half);
  }
}

TEST(Precision, ConstantsWithoutDataAreRefused) {
  EXPECT_THROW(with_precision(parse_program(kConv), DType::F16), Error);
}

} // namespace
} // namespace tilefuse::program
