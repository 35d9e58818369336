// SPDX-License-Identifier: Apache-2.0
// Below a cast to half precision dear operations are coarse: the error function's errors, measured
// on its polynomial, and the texts of both languages.
#include "emit/c/coarse_math.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "emit/c/cuda.h"
#include "emit/c/opencl.h"
#include "emit/cuda_checks.h"
#include "kernel/text/text.h"
#include "target/coarse.h"

namespace tilefuse::emit {
namespace {

float coarse(float x) {
  const float t = std::fabs(x);
  float p = kLogErfc.back();
  for (std::size_t i = kLogErfc.size() - 1; i-- > 0;)
    p = std::fma(p, t, kLogErfc[i]);
  const float large = std::copysign(1.0F - std::exp2(p * t), x);
  const float small = x * (kSlope - kCubic * x * x);
  return t < kNearZero ? small : large;
}

// Of erf, and of its distance from 1 but for a rounding of f32.
TEST(CoarseMath, TheErrorFunctionIsWithinTheBound) {
  double of_erf = 0, of_erfc = 0;
  const auto check = [&](float x) {
    const double exact = std::erf(static_cast<double>(x));
    const double error = std::fabs(coarse(x) - exact);
    of_erf = std::max(of_erf, error / std::fabs(exact));
    of_erfc = std::max(of_erfc, (error - std::ldexp(1, -24)) / std::erfc(std::fabs(x)));
  };
  for (float x = -6; x <= 6; x += 1e-4F)
    if (x != 0)
      check(x);
  for (float x = 1; x > 1e-30F; x *= 0.97F)
    check(x);
  EXPECT_LT(of_erf, std::ldexp(1.01, -20));
  EXPECT_LT(of_erfc, kCoarseError);
}

TEST(CoarseMath, TheErrorFunctionHasItsLimits) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(coarse(kInf), 1);
  EXPECT_EQ(coarse(-kInf), -1);
  EXPECT_EQ(coarse(0), 0);
  EXPECT_TRUE(std::isnan(coarse(std::numeric_limits<float>::quiet_NaN())));
}

kernel::Kernel stored(const std::string &type, const std::string &value) {
  return kernel::parse_kernel(fmt::format(R"(
kernel post blocks 1 block_size 32 {{
  global const x f32[256]
  global y {0}[256]
  y[lane * 8 .. 8] = {1}
}})",
                                          type, value));
}

std::string cuda_text(const std::string &type, const std::string &value) {
  const Package package = make_cuda_emitter()->emit(stored(type, value), cuda_target());
  expect_clean({package});
  const std::size_t at = package.code.find("b1 + ", package.code.rfind("extern \"C\""));
  return package.code.substr(at, package.code.find(";\n", at) - at);
}

const std::string kGelu = "x[lane * 8 .. 8] * (erf(x[lane * 8 .. 8] / f32x8(1.5)) + f32x8(1))";

TEST(CoarseMath, IsForReadersOfHalfPrecision) {
  const std::string half = cuda_text("f16", "f16x8(" + kGelu + ")");
  EXPECT_NE(half.find("tf_coarse_erf("), std::string::npos) << half;
  EXPECT_NE(half.find("tf_coarse_div("), std::string::npos) << half;
  const std::string single = cuda_text("f32", kGelu);
  EXPECT_EQ(single.find("coarse"), std::string::npos) << single;
}

TEST(CoarseMath, IsForWhatIsRoundedToHalfPrecision) {
  const std::string cast = cuda_text("f16", "f16x8(round_f16(" + kGelu + "))");
  EXPECT_NE(cast.find("tf_coarse_erf("), std::string::npos) << cast;
  const std::string single = cuda_text("f32", "round_bf16(" + kGelu + ")");
  EXPECT_NE(single.find("tf_coarse_erf("), std::string::npos) << single;
}

TEST(CoarseMath, GoesThroughQuotientsAndCasts) {
  const std::string text =
      cuda_text("f16", "f16x8(x[lane * 8 .. 8] / (f32x8(1) + exp(f32x8(0) - x[lane * 8 .. 8])))");
  EXPECT_NE(text.find("tf_coarse_div("), std::string::npos) << text;
  EXPECT_NE(text.find("tf_coarse_exp("), std::string::npos) << text;
  for (const char *exact :
       {"f16x8(floor(exp(x[lane * 8 .. 8]) / x[lane * 8 .. 8]))",
        "f16x8(select(x[lane * 8 .. 8] / f32x8(3) < f32x8(1), f32x8(2), f32x8(1)))"}) {
    const std::string rounded = cuda_text("f16", exact);
    EXPECT_EQ(rounded.find("coarse"), std::string::npos) << rounded;
  }
  const std::string tanh = cuda_text("bf16", "bf16x8(tanh(x[lane * 8 .. 8]))");
  EXPECT_NE(tanh.find("tf_coarse_tanh("), std::string::npos) << tanh;
}

TEST(CoarseMath, IsWhereAnExpressionSaysSo) {
  const std::string text =
      cuda_text("f32", "coarse(exp(x[lane * 8 .. 8])) + exp(x[lane * 8 .. 8])");
  EXPECT_NE(text.find("tf_coarse_exp("), std::string::npos) << text;
  EXPECT_NE(text.find(" exp("), std::string::npos) << text;
  EXPECT_EQ(text.find("coarse("), std::string::npos) << text;
}

TEST(CoarseMath, OpenclHasTheErrorFunction) {
  Target target = cuda_target();
  target.backend = "opencl";
  target.isa = "CL1.2";
  target.features = {Feature::EitherLanes};
  const std::string code =
      make_opencl_emitter()->emit(stored("f16", "f16x8(" + kGelu + ")"), target).code;
  EXPECT_NE(code.find("float8 tf_coarse_erf_f32x8(float8 x)"), std::string::npos) << code;
  EXPECT_EQ(code.find(" erf("), std::string::npos) << code;
}

} // namespace
} // namespace tilefuse::emit
