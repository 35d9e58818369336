// SPDX-License-Identifier: Apache-2.0
// Programs in 8-bit integers: what is converted, how it is scaled, and how far results are apart.
#include <gtest/gtest.h>

#include <cmath>

#include "base/index.h"
#include "program/precision/quantize.h"
#include "program/reference.h"

namespace tilefuse::program {
namespace {

constexpr const char *kConvs = R"(program "p" {
  input %0 "x" : f32[1, 3, 8]
  const %1 "w" : f32[4, 3]
  const %2 "b" : f32[4, 1]
  const %3 "v" : f32[2, 4]
  %4 "t" : f32[1, 4, 8] = sum[n, m, x, c](%0[n, c, x] * %1[m, c]) -> [n, m, x] from "Conv"
  %5 "r" : f32[1, 4, 8] = map[%4, %2](max($0 + $1, 0)) from "Relu"
  %6 "p" : f32[1, 4, 4] = max[n, m, x, i](%5[n, m, 2*x + i]) -> [n, m, x] where 0 <= i < 2 from "Pool"
  %7 "y" : f32[1, 2, 4] = sum[n, m, x, c](%6[n, c, x] * %3[m, c]) -> [n, m, x] from "Conv2"
  output %7
})";

const Tensor &named(const Program &program, const std::string &name, DType type) {
  for (const Tensor &tensor : program.tensors)
    if (tensor.name == name && tensor.type == type)
      return tensor;
  throw std::runtime_error("there is no " + name);
}

TEST(Quantize, ProductsAreOfIntegersWhatFollowsScales) {
  Program program = testing::program_of(kConvs);
  EXPECT_EQ(tensors_to_calibrate(program),
            (std::vector<TensorId>{TensorId{0}, TensorId{5}, TensorId{6}}));
  std::vector<double> largest(program.tensors.size(), 0);
  largest[0] = 254; // steps of 2
  largest[5] = 63.5;
  largest[6] = 31.75; // the two share a scale: steps of 0.5
  const Quantized whole = quantized(program, largest);
  EXPECT_EQ(whole.products, 2);
  EXPECT_EQ(whole.activations, 2);
  EXPECT_EQ(whole.weight_bytes, 12 + 8);
  EXPECT_TRUE(whole.kept.empty());
  EXPECT_EQ(testing::lines_of(whole.program), R"(program "p" {
  input %0 "x" : f32[1, 3, 8]
  const %1 "b" : f32[4, 1]
  const %6 "w" : i8[4, 3]
  const %7 "w.scale" : f32[1, 4, 1]
  const %10 "v" : i8[2, 4]
  const %11 "v.scale" : f32[1, 2, 1]
  %8 "x" : i8[1, 3, 8] = map[%0](i8(max(min(round($0 * 0.5), 127), -127))) from "int8"
  %9 "t" : i32[1, 4, 8] = sum[n, m, x, c](%8[n, c, x] * %6[m, c]) -> [n, m, x] from "Conv"
  %2 "t" : f32[1, 4, 8] = map[%9, %7](f32($0) * $1) from "Conv"
  %3 "r" : i8[1, 4, 8] = map[%2, %1](i8(max(min(round(max($0 + $1, 0) * 2), 127), -127))) from "Relu"
  %4 "p" : i8[1, 4, 4] = max[n, m, x, i](%3[n, m, 2*x + i]) -> [n, m, x] where 0 <= i < 2 from "Pool"
  %12 "y" : i32[1, 2, 4] = sum[n, m, x, c](%4[n, c, x] * %10[m, c]) -> [n, m, x] from "Conv2"
  %5 "y" : f32[1, 2, 4] = map[%12, %11](f32($0) * $1) from "Conv2"
  output %5
}
)");
}

// Every row of weights has its own scale, and its largest weight is 127.
TEST(Quantize, WeightsAreScaledByChannel) {
  const Program program = testing::program_of(kConvs);
  const Quantized whole = quantized(program, std::vector<double>(program.tensors.size(), 127));
  const Tensor &weights = named(whole.program, "w", DType::I8);
  const Tensor &scales = named(whole.program, "w.scale", DType::F32);
  EXPECT_EQ(scales.shape, (Shape{1, 4, 1}));
  for (std::int64_t m = 0; m < 4; ++m) {
    double most = 0;
    for (std::int64_t c = 0; c < 3; ++c) {
      const double value = load_element(weights.data->data(), DType::I8, m * 3 + c);
      const double before = load_element(program.tensors[1].data->data(), DType::F32, m * 3 + c);
      const double scale = load_element(scales.data->data(), DType::F32, m);
      most = std::max(most, std::fabs(value));
      EXPECT_LE(std::fabs(value * scale - before), scale / 2 + 1e-6);
    }
    EXPECT_EQ(most, 127);
  }
}

TEST(Quantize, ResultsAreNearThoseInF32) {
  const Program program = testing::program_of(kConvs);
  std::vector<double> largest(program.tensors.size(), 0);
  for (const TensorId id : tensors_to_calibrate(program)) {
    Program shown = program;
    shown.outputs = {id};
    const testing::Values values = program[id].role == Role::Input
                                       ? testing::input_values(program, 0)
                                       : testing::run(shown)[0];
    for (const double value : values)
      largest[at(id)] = std::max(largest[at(id)], std::fabs(value));
  }
  const auto before = testing::run(program)[0];
  const auto after = testing::run(quantized(program, largest).program)[0];
  double apart = 0, all = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    apart += (before[i] - after[i]) * (before[i] - after[i]);
    all += before[i] * before[i];
  }
  EXPECT_LT(std::sqrt(apart / all), 0.02);
  EXPECT_GT(apart, 0);
}

// Sums of one operand add integers; a product of two computed tensors reads f32; so does what gives
// an output.
TEST(Quantize, WhatIsNoProductWithWeightsStaysInF32) {
  const Program program = testing::program_of(R"(program "p" {
  input %0 "x" : f32[4, 8]
  const %1 "w" : f32[8, 8]
  %2 "a" : f32[4, 8] = map[%0](max($0, 0))
  %3 "b" : f32[4, 8] = sum[n, m, c](%2[n, c] * %1[c, m]) -> [n, m] from "Gemm"
  %4 "m" : f32[4, 1] = sum[n, c](%2[n, c]) -> [n, 0] from "Mean"
  %5 "d" : f32[4, 4] = sum[n, m, c](%2[n, c] * %3[m, c]) -> [n, m] from "Dot"
  output %4
  output %5
})");
  const Quantized whole = quantized(program, std::vector<double>(program.tensors.size(), 100));
  EXPECT_EQ(whole.products, 1);
  EXPECT_EQ(whole.kept, std::vector<std::string>{"Dot \"d\": a product of two computed tensors"});
  EXPECT_EQ(named(whole.program, "m", DType::I32).shape, (Shape{4, 1}));
  EXPECT_EQ(named(whole.program, "a", DType::I8).shape, (Shape{4, 8}));
  EXPECT_EQ(named(whole.program, "a", DType::F32).shape, (Shape{4, 8})); // for the product
}

// The shortcut of a block is stored; what is added to it is computed by the kernel that adds.
TEST(Quantize, ShortcutsLieInIntegers) {
  const Program program = testing::program_of(R"(program "p" {
  input %0 "x" : f32[4, 8]
  const %1 "v" : f32[8, 8]
  const %2 "w" : f32[8, 8]
  %3 "short" : f32[4, 8] = sum[n, m, c](%0[n, c] * %1[c, m]) -> [n, m]
  %4 "long" : f32[4, 8] = sum[n, m, c](%0[n, c] * %2[c, m]) -> [n, m]
  %5 "added" : f32[4, 8] = map[%3, %4](max($0 + $1, 0))
  output %5
})");
  const Quantized whole = quantized(program, std::vector<double>(program.tensors.size(), 100));
  EXPECT_EQ(named(whole.program, "short", DType::I8).shape, (Shape{4, 8}));
  EXPECT_EQ(named(whole.program, "long", DType::F32).shape, (Shape{4, 8}));
  EXPECT_EQ(whole.activations, 1);
}

} // namespace
} // namespace tilefuse::program
