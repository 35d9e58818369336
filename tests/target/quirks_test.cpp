// SPDX-License-Identifier: Apache-2.0
#include "target/quirks.h"

#include <gtest/gtest.h>

namespace tilefuse {
namespace {

TEST(Quirks, RowsAreInOrderAndSayWhatHappens) {
  int number = 0;
  for (const QuirkRow &row : quirks()) {
    EXPECT_EQ(static_cast<int>(row.quirk), number++);
    EXPECT_FALSE(row.what.empty());
    EXPECT_TRUE(row.gone == CompilerVersion{} || row.gone > row.seen);
  }
  EXPECT_EQ(static_cast<int>(Quirk::EarlyConversion) + 1, number);
}

// Until a version is seen without a quirk, every one is thought to have it.
TEST(Quirks, AreGoneFromTheVersionThatWasSeenWithout) {
  const QuirkRow row = {Quirk::EarlyConversion, "NVRTC", {13, 0}, "", {13, 2}};
  for (const char *compiler : {"", "NVRTC 12.9", "NVRTC 13.0", "NVRTC 13.1", "other 14.0", "NVRTC"})
    EXPECT_FALSE(is_gone(row, compiler)) << compiler;
  for (const char *compiler : {"NVRTC 13.2", "NVRTC 13.10", "NVRTC 14.0"})
    EXPECT_TRUE(is_gone(row, compiler)) << compiler;
  Target target;
  target.compiler = "NVRTC 13.0";
  for (const QuirkRow &each : quirks())
    EXPECT_TRUE(has(target, each.quirk));
}

} // namespace
} // namespace tilefuse
