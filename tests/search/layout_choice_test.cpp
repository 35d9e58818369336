// SPDX-License-Identifier: Apache-2.0
// How the activations of a network lie, beside matrix units.
#include <gtest/gtest.h>

#include "program/program.h"
#include "search/network/layout_choice.h"
#include "target/rows.h"

namespace tilefuse::search {
namespace {

LaidOut laid_out(const char *text) {
  return lay_out(program::parse_program(text), testing::target_row("cuda_sm90"), {});
}

// Products along tokens and products along channels of patches that a convolution cuts.
TEST(LayoutChoice, WhereChannelsLastTakesCopiesTheOrderOfDimensionsIsPriced) {
  const LaidOut laid = laid_out(R"(program "p" {
  input %0 "x" : f16[32, 64, 14, 14]
  const %1 "patch" : f16[512, 64]
  const %2 "w" : f16[196, 256]
  const %3 "v" : f16[256, 196]
  const %4 "u" : f16[512, 512]
  %5 "o" : f16[32, 512, 14, 14] = sum[n, m, y, x, c](%0[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
  %6 "t" : f16[32, 512, 196] = view(%5)
  %7 "h" : f16[32, 512, 256] = sum[b, c, k, t](%6[b, c, t] * %2[t, k]) -> [b, c, k]
  %8 "r" : f16[16384, 256] = view(%7)
  %9 "g" : f16[16384, 196] = sum[m, n, k](%8[m, k] * %3[k, n]) -> [m, n]
  %10 "l" : f16[16384, 196] = view(%5)
  %11 "z" : f16[16384, 196] = map[%9, %10](f16(f32($0) + f32($1)))
  %12 "s" : f16[32, 512, 196] = view(%11)
  %13 "p" : f16[32, 196, 512] = sum[b, t, d, c](%12[b, c, t] * %4[c, d]) -> [b, t, d]
  %14 "e" : f16[6272, 512] = view(%13)
  %15 "f" : f16[6272, 512] = sum[m, n, k](%14[m, k] * %4[k, n]) -> [m, n]
  output %15
})");
  EXPECT_NE(laid.weighed.find("layout nchw: "), std::string::npos) << laid.weighed;
  EXPECT_EQ(laid.weighed.find("layout nchw: not priced"), std::string::npos) << laid.weighed;
}

TEST(LayoutChoice, WithoutCopiesChannelsStayLast) {
  const LaidOut laid = laid_out(R"(program "p" {
  input %0 "x" : f16[32, 64, 28, 28]
  const %1 "w" : f16[64, 64, 3, 3]
  const %2 "v" : f16[64, 64]
  %3 "o" : f16[32, 64, 28, 28] = sum[n, m, y, x, c, r, s](%0[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
  %4 "p" : f16[32, 64, 28, 28] = sum[n, m, y, x, c](%3[n, c, y, x] * %2[m, c]) -> [n, m, y, x]
  output %4
})");
  EXPECT_EQ(laid.layout, program::Layout::Nhwc);
  EXPECT_NE(laid.weighed.find("layout nchw: not priced"), std::string::npos) << laid.weighed;
}

} // namespace
} // namespace tilefuse::search
