// SPDX-License-Identifier: Apache-2.0
// Where 8-bit integers clip what was seen of a tensor.
#include <gtest/gtest.h>

#include <cstdint>

#include "model/magnitudes.h"

namespace tilefuse::model {
namespace {

program::HostTensor tensor_of(const std::vector<double> &values) {
  program::HostTensor tensor =
      program::make_host_tensor("t", DType::F32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    set(tensor, static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

// 1/1000, 2/1000 … 1, and one value far away.
std::vector<double> with_outlier(double outlier) {
  std::vector<double> values{outlier};
  for (int i = 1; i <= 1000; ++i)
    values.push_back(i / 1000.0);
  return values;
}

TEST(Magnitudes, the_whole_range_is_that_of_all_runs) {
  Magnitudes seen;
  seen.add(tensor_of({0.25, -3}));
  seen.add(tensor_of({1e6, 0}));
  const program::Range range = seen.range(Clipping::None, 100);
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 1e6);
}

TEST(Magnitudes, a_percentile_leaves_out_what_is_larger) {
  Magnitudes seen;
  seen.add(tensor_of(with_outlier(-100)));
  const program::Range range = seen.range(Clipping::Percentile, 99.9);
  EXPECT_NEAR(range.high, 1, 1e-9);
  EXPECT_NEAR(range.low, -1, 0.1); // a step of counts up to 100
  EXPECT_EQ(seen.range(Clipping::Percentile, 100).low, -100);
}

TEST(Magnitudes, entropy_clips_an_outlier_and_keeps_what_is_even) {
  // Sums of uniform numbers fall off as a bell does, to 2 at most.
  std::vector<double> bell{16};
  std::uint32_t state = 1;
  for (int i = 0; i < 50000; ++i) {
    double sum = -2;
    for (int k = 0; k < 4; ++k) {
      state = state * 1664525 + 1013904223;
      sum += state * 0x1p-32;
    }
    bell.push_back(sum);
  }
  Magnitudes far;
  far.add(tensor_of(bell));
  const double clipped = far.range(Clipping::Entropy, 100).high;
  EXPECT_GE(clipped, 1);
  EXPECT_LT(clipped, 6);
  Magnitudes even;
  std::vector<double> values;
  for (int i = 0; i < 100000; ++i)
    values.push_back((i % 2 == 0 ? 1 : -1) * i / 1e5);
  even.add(tensor_of(values));
  EXPECT_GT(even.range(Clipping::Entropy, 100).high, 0.9);
}

// Steps below the least magnitude keep nothing of a distribution.
TEST(Magnitudes, entropy_keeps_magnitudes_that_are_all_large) {
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> values;
    for (int i = 0; i < 1000; ++i)
      values.push_back(sign * (0.9 + i / 1e4));
    Magnitudes seen;
    seen.add(tensor_of(values));
    const program::Range range = seen.range(Clipping::Entropy, 100);
    EXPECT_GT(std::max(range.high, -range.low), 0.9);
  }
}

TEST(Magnitudes, zeros_alone_have_no_range) {
  Magnitudes seen;
  seen.add(tensor_of({0, 0}));
  EXPECT_EQ(seen.range(Clipping::Entropy, 100).high, 0);
  EXPECT_EQ(Magnitudes().range(Clipping::Percentile, 99).high, 0);
}

} // namespace
} // namespace tilefuse::model
