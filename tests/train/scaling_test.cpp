// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/scaling.h"

#include <gtest/gtest.h>

namespace tilefuse::train {
namespace {

// ResNet-50: 102.2 MB, a step of 12.5 ms at 128 pictures.
TEST(Scaling, IsTheFormula) {
  const std::vector<ScalingRow> rows = scaling({12.5e-3, 102'200'000, 128}, 128);
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_DOUBLE_EQ(rows[0].beside, 1);
  EXPECT_EQ(rows[1].workers, 2);
  EXPECT_NEAR(rows[1].exchange_ms, 102.2 / 329, 1e-3);
  EXPECT_NEAR(rows[3].exchange_ms, 1.75 * 102.2 / 361, 1e-3);
  // 16 hosts: 15/8 of an eighth at 45 GB/s, and 8 messages of 10 us.
  EXPECT_NEAR(rows[7].exchange_ms, 1.75 * 102.2 / 361 + 1.875 * 12.775 / 45 + 0.08, 1e-3);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LT(rows[i].behind, rows[i - 1].behind);
    EXPECT_GE(rows[i].beside, rows[i].behind);
  }
  EXPECT_GT(rows[7].beside, 0.95);
}

// Half of the bytes on the way to where they are summed, all of them on the way back.
TEST(Scaling, CountsTheBytesOfNarrowParts) {
  const ScalingStep wide{12.5e-3, 102'200'000, 128};
  ScalingStep narrow = wide;
  narrow.parts = 0.5;
  EXPECT_NEAR(scaling(narrow, 8)[3].exchange_ms, 0.75 * scaling(wide, 8)[3].exchange_ms, 1e-9);
  EXPECT_NE(scaling_text(narrow, 2).find("parts of them travel as 51.1 MB"), std::string::npos);
}

} // namespace
} // namespace tilefuse::train
