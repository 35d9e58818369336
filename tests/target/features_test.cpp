// SPDX-License-Identifier: Apache-2.0
#include "target/features.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "paths.h"
#include "target/device_rows.h"
#include "target/nvidia.h"

namespace tilefuse {
namespace {

constexpr std::array<std::pair<Feature, char>, kFeatures> kLetters = {{
    {Feature::AsyncCopies, 'a'},
    {Feature::MatrixUnits, 'm'},
    {Feature::WarpgroupMatrix, 'w'},
    {Feature::LaunchQueue, 'q'},
    {Feature::EarlyLaunch, 'e'},
    {Feature::PackedRounding, 'r'},
    {Feature::PrefetchHints, 'p'},
    {Feature::EitherLanes, 'l'},
    {Feature::SharedBlocks, 's'},
    {Feature::MaskedStores, 'k'},
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
  EXPECT_EQ(table, "cpu_avx2 ps\n"
                   "cpu_avx512 psk\n"
                   "cpu_avx512_amx psk\n"
                   "cpu_avx512_vnni psk\n"
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

TEST(Features, HaveNames) {
  for (const auto &[feature, letter] : kLetters)
    EXPECT_EQ(parse_feature(to_string(feature)), feature);
  EXPECT_EQ(parse_feature("matrix"), std::nullopt);
  EXPECT_EQ(to_text({Feature::EitherLanes, Feature::MatrixUnits}), "matrix_units either_lanes");
  EXPECT_EQ(to_text(Features{}), "");
}

// A device may be older or newer than the row that it takes.
TEST(Features, OfAGeneration) {
  Features hopper;
  for (const auto &[feature, letter] : kLetters)
    hopper.insert(feature);
  EXPECT_EQ(of_generation(hopper, 90), hopper);
  EXPECT_EQ(hopper.without(of_generation(hopper, 100)), Features{Feature::WarpgroupMatrix});
  EXPECT_EQ(hopper.without(of_generation(hopper, 89)),
            (Features{Feature::WarpgroupMatrix, Feature::EarlyLaunch}));
  EXPECT_EQ(to_text(of_generation(hopper, 75)),
            "matrix_units launch_queue prefetch_hints either_lanes shared_blocks masked_stores");
}

} // namespace
} // namespace tilefuse
