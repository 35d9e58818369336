// SPDX-License-Identifier: Apache-2.0
#include "target/features.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "paths.h"

namespace tilefuse {
namespace {

constexpr std::array<std::pair<Feature, char>, 8> kLetters = {{
    {Feature::AsyncCopies, 'a'},
    {Feature::MatrixUnits, 'm'},
    {Feature::WarpgroupMatrix, 'w'},
    {Feature::LaunchQueue, 'q'},
    {Feature::EarlyLaunch, 'e'},
    {Feature::PackedRounding, 'r'},
    {Feature::PrefetchHints, 'p'},
    {Feature::EitherLanes, 'l'},
}};

std::string features(const Target &target) {
  std::string letters;
  for (const auto &[feature, letter] : kLetters)
    if (has(target, feature))
      letters += letter;
  return letters;
}

TEST(Features, OfShippedRows) {
  std::string table;
  for (const Target &row : read_targets(TILEFUSE_SOURCE_DIR "/devices"))
    table += row.name + " " + features(row) + "\n";
  EXPECT_EQ(table, "cpu_avx2 p\n"
                   "cpu_avx512 p\n"
                   "cuda_sm80 amqrl\n"
                   "cuda_sm90 amwqerl\n"
                   "opencl_adreno l\n"
                   "opencl_amd l\n"
                   "opencl_cpu l\n"
                   "opencl_cpu_avx512 l\n"
                   "opencl_gpu l\n"
                   "opencl_intel l\n"
                   "opencl_mali l\n"
                   "opencl_nvidia arl\n"
                   "opencl_nvidia_sm90 arl\n");
}

TEST(Features, MatrixUnitsAreOfWarpsOf32) {
  Target target{.backend = "cuda", .isa = "sm_90a", .lanes = LaneKind::WorkItem, .warp = 32};
  EXPECT_TRUE(has(target, Feature::WarpgroupMatrix));
  target.warp = 64;
  EXPECT_FALSE(has(target, Feature::MatrixUnits));
  EXPECT_FALSE(has(target, Feature::WarpgroupMatrix));
}

} // namespace
} // namespace tilefuse
