// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "train/starvation.h"

namespace tilefuse::train {
namespace {

Feeding feeding() {
  return {.waited = 0.314,
          .times = {.reading = 5, .augmenting = 1},
          .decodes = true,
          .threads = 2,
          .cores = 8};
}

TEST(Starvation, NamesTheStageAndWhatHelps) {
  EXPECT_EQ(advice(feeding()),
            "starved  31 % of the time waits for pictures, whose loading is mostly decoding; what "
            "helps: data.threads = 8 in place of 2, or pictures decoded once by 'tilefuse data "
            "pack'\n");
}

TEST(Starvation, GoesByWhatTakesTheTime) {
  Feeding one = feeding();
  one.threads = one.cores;
  EXPECT_EQ(advice(one).find("data.threads"), std::string::npos);
  one.decodes = false;
  EXPECT_NE(advice(one).find("mostly reading; what helps: a faster disk"), std::string::npos);
  one.times.augmenting = 6;
  EXPECT_NE(advice(one).find("mostly augmenting; what helps: less augmentation"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse::train
