// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilefuse {
namespace {

TEST(Nearest, DistanceCountsMistakes) {
  EXPECT_EQ(edit_distance("run", "run"), 0U);
  EXPECT_EQ(edit_distance("rnu", "run"), 1U); // swapped
  EXPECT_EQ(edit_distance("", "run"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, OnlyWhatIsNear) {
  const std::vector<std::string> verbs = {"run", "bench", "explain", "simulate"};
  EXPECT_EQ(nearest("rnu", verbs), "run");
  EXPECT_EQ(nearest("Benhc", verbs), "bench");
  EXPECT_EQ(nearest("sim", verbs), "simulate");
  EXPECT_EQ(nearest("recognise", verbs), "");
  EXPECT_EQ(nearest("", verbs), "");
  EXPECT_EQ(nearest("x", verbs), "");
  EXPECT_EQ(did_you_mean("explian", verbs), "; did you mean 'explain'?");
  EXPECT_EQ(did_you_mean("zzz", {}), "");
}

} // namespace
} // namespace tilefuse
