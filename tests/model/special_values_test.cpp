// SPDX-License-Identifier: Apache-2.0
// Operators at infinities and at what is no number, as ONNX's reference has them: by the evaluator,
// the simulator and every device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/pointwise_run.h"
#include "paths.h"

namespace tilefuse {
namespace {

using List = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kElems = 37; // vectors and a tail

const tile::Library &ops() {
  static const tile::Library library = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  return library;
}

void expect(const std::string &function, const std::vector<List> &operands, const List &expected,
            double tolerance = 0) {
  SCOPED_TRACE(function);
  std::vector<program::HostTensor> inputs;
  for (const List &values : operands)
    inputs.push_back(
        testing::repeated("x" + std::to_string(inputs.size()), DType::F32, values, kElems));
  testing::expect_everywhere(
      {testing::pointwise_program(ops(), function, operands.size(), DType::F32, kElems), inputs},
      expected, false, tolerance);
}

TEST(SpecialValues, SoftplusEndsAtZeroAndDoesNotOverflow) {
  expect("softplus", {{-kInf, kInf, kNan, 3e38, -3e38, 0, 100, -100}},
         {0, kInf, kNan, 3e38, 0, std::log(2), 100, std::exp(-100)}, 1e-6);
}

TEST(SpecialValues, TheSignOfNoNumberIsNoNumber) {
  expect("sign", {{kNan, -kInf, kInf, 0, -0.25, 3}}, {kNan, -1, 1, 0, -1, 1});
}

TEST(SpecialValues, MaxAndMinHandNanOn) {
  const List a = {1, kNan, kNan, 2, -kInf, 3};
  const List b = {kNan, 1, kNan, 5, kNan, -3};
  expect("max", {a, b}, {kNan, kNan, kNan, 5, kNan, 3});
  expect("min", {a, b}, {kNan, kNan, kNan, 2, kNan, -3});
}

// A row that a mask hides has no other maximum.
TEST(SpecialValues, ExtremaOfInfinitiesAreInfinite) {
  for (const auto &[name, value] : {std::pair("max", -kInf), {"min", kInf}}) {
    const program::Program rows = program::parse_program(fmt::format(
        R"(program "rows" {{ input %0 "x" : f32[37, 5]
        %1 "y" : f32[37] = {}[o, k](%0[o, k]) -> [o] output %1 }})",
        name));
    testing::expect_everywhere({rows, {testing::repeated("x", DType::F32, {value}, kElems * 5)}},
                               {value}, false);
  }
}

TEST(SpecialValues, ReluHandsNanOn) {
  expect("relu", {{kNan, -kInf, kInf, -1, 2}}, {kNan, 0, kInf, 0, 2});
}

} // namespace
} // namespace tilefuse
