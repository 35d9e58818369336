// SPDX-License-Identifier: Apache-2.0
#include "program/host_tensor.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilefuse::program {
namespace {

TEST(HostTensor, StartsAtZeroAndKeepsElements) {
  HostTensor tensor = make_host_tensor("t", DType::F16, {2, 3});
  ASSERT_EQ(tensor.data.size(), 12U);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(get(tensor, i), 0);
  set(tensor, 4, 1.5);
  EXPECT_EQ(get(tensor, 4), 1.5);
  EXPECT_EQ(get(tensor, 3), 0);
}

TEST(HostTensor, ConvertsElementwise) {
  HostTensor tensor = make_host_tensor("t", DType::F32, {3});
  set(tensor, 0, 1.0F / 3);
  set(tensor, 1, -2);
  set(tensor, 2, 300);
  const HostTensor half = convert(tensor, DType::F16);
  EXPECT_EQ(half.name, "t");
  EXPECT_EQ(half.data.size(), 6U);
  EXPECT_NEAR(get(half, 0), 1.0 / 3, 2e-4);
  EXPECT_NE(get(half, 0), get(tensor, 0));
  EXPECT_EQ(get(convert(tensor, DType::I8), 2), 127);
  EXPECT_EQ(get(convert(tensor, DType::I8), 1), -2);
}

TEST(HostTensor, ScalarsAndEmptyTensors) {
  EXPECT_EQ(make_host_tensor("s", DType::I64, {}).data.size(), 8U);
  EXPECT_TRUE(make_host_tensor("e", DType::I64, {0, 5}).data.empty());
}

TEST(HostTensor, AbsurdSizesAreErrors) {
  EXPECT_THROW(make_host_tensor("t", DType::F64, {std::int64_t{1} << 61}), Error);
  EXPECT_THROW(make_host_tensor("t", DType::F32, {std::int64_t{1} << 40, 1 << 10}), Error);
  EXPECT_THROW(make_host_tensor("t", DType::U8, {std::int64_t{1} << 60}), Error);
  EXPECT_THROW(make_host_tensor("t", DType::U8, {-4}), Error);
}

} // namespace
} // namespace tilefuse::program
