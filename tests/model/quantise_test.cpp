// SPDX-License-Identifier: Apache-2.0
// What quantises, bit by bit as f32 has it: divisions by constants, and integers that stay floats in
// a kernel, by the evaluator, the simulator and every device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/pointwise_run.h"

namespace tilefuse {
namespace {

using List = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

float byte(float value) { return std::fmin(std::fmax(std::nearbyint(value), 0.0F), 255.0F); }

void expect(const std::string &text, const std::vector<std::pair<DType, List>> &operands,
            const List &expected) {
  std::vector<program::HostTensor> inputs;
  for (const auto &[type, values] : operands)
    inputs.push_back(testing::repeated("x" + std::to_string(inputs.size()), type, values,
                                       static_cast<std::int64_t>(expected.size())));
  testing::expect_everywhere({program::parse_program(text), inputs}, expected, false);
}

TEST(Quantise, QuotientsAreThoseOfTheDivision) {
  List values = {kInf, -kInf, 0.0, -0.0, 3e38, -3e38, 1e-44};
  for (int k = 0; k < 500; ++k)
    values.push_back(static_cast<double>(static_cast<float>(k) * 0.5F * 0.3F));
  for (const float scale : {0.3F, 0.0625F, 0.05921165F, 1.4832605F, 7.9F}) {
    List expected;
    for (const double value : values)
      expected.push_back(static_cast<double>(byte(static_cast<float>(value) / scale)));
    expect(fmt::format(R"(program "p" {{ input %0 "x" : f32[{0}]
        %1 "y" : u8[{0}] = map[%0](u8(round($0 / {1}))) output %1 }})",
                       values.size(), static_cast<double>(scale)),
           {{DType::F32, values}}, expected);
  }
}

TEST(Quantise, AResidualIsAddedAsItIsWritten) {
  List sums, others;
  for (int k = 0; k < 1000; ++k) {
    sums.push_back((k * 7919 % 200003) - 100001);
    others.push_back(k * 37 % 256);
  }
  for (const float scale : {0.059211645F, 0.11482F, 0.0078125F}) {
    List expected;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      // u8, less its zero point
      const float first = byte(std::nearbyint(static_cast<float>(sums[k]) * 0.0025F) + 113) - 113;
      const float whole = first * 0.029927F + (static_cast<float>(others[k]) - 142) * 0.12202532F;
      expected.push_back(static_cast<double>(byte(std::fmax(whole, 0.0F) / scale)));
    }
    expect(fmt::format(R"(program "p" {{ input %0 "a" : i32[{0}]
        input %1 "b" : u8[{0}]
        %2 "c" : u8[{0}] = map[%0](u8(round(f32($0) * 0.0025) + 113))
        %3 "y" : u8[{0}] = map[%2, %1](u8(round(max(f32(i32($0) + -113) * 0.029927 + f32(i32($1) + -142) * 0.12202532, 0) / {1})))
        output %3 }})",
                       sums.size(), static_cast<double>(scale)),
           {{DType::I32, sums}, {DType::U8, others}}, expected);
  }
}

} // namespace
} // namespace tilefuse
