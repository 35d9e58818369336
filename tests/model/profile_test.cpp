// SPDX-License-Identifier: Apache-2.0
// What is said of a network's launches without a device.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "model/profile.h"
#include "poly/fuse.h"
#include "program/program.h"
#include "program/storage/storage.h"
#include "search/network/launches.h"
#include "search/pick.h"
#include "target/rows.h"

namespace tilefuse::model {
namespace {

// A map that follows another reads what was stored, but not from memory again.
TEST(PredictedProfile, CountsOnceWhatPartsOfALaunchShare) {
  constexpr double kTensor = 8 * 256 * 4; // bytes
  const Target target = testing::target_row("cuda_sm90");
  const program::StoredProgram stored =
      program::assign_storage(program::parse_program(R"(program "two" {
  input %0 "x" : f32[8, 256]
  input %1 "y" : f32[8, 256]
  %2 "twice" : f32[8, 256] = map[%0](2.0*$0)
  %3 "sum" : f32[8, 256] = map[%0, %1, %2]($0*$1 + $2)
  output %2
  output %3
}
)"));
  std::vector<launch::Part> kernels;
  for (poly::PlacedGroup &placed : poly::make_groups(stored, {.level = poly::FuseLevel::None})) {
    schedule::Schedule schedule = search::pick(placed.group.anchor, target);
    kernels.push_back({std::move(placed), std::move(schedule)});
  }
  Compiled compiled;
  for (launch::Launch &launch : search::choose_launches(
           std::move(kernels), target, search::pick_of_size(target), search::Sharing::InOrder))
    compiled.launches.push_back({.launch = std::move(launch)});
  ASSERT_EQ(compiled.launches.size(), 1U);
  ASSERT_EQ(compiled.launches[0].launch.parts.size(), 2U);
  EXPECT_EQ(predicted_profile(compiled, target).kernels.at(0).bytes, 4 * kTensor);
}

} // namespace
} // namespace tilefuse::model
