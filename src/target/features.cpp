// SPDX-License-Identifier: Apache-2.0
#include "target/features.h"

#include <array>
#include <cstddef>

namespace tilefuse {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kFeatures> kNames = {
    "async_copies",    "matrix_units",   "warpgroup_matrix", "launch_queue",  "early_launch",
    "packed_rounding", "prefetch_hints", "either_lanes",     "shared_blocks", "masked_stores",
};

} // namespace

std::string_view to_string(Feature feature) { return kNames[static_cast<std::size_t>(feature)]; }

std::string to_text(Features features) {
  std::string text;
  for (int i = 0; i < kFeatures; ++i)
    if (const auto feature = static_cast<Feature>(i); features.contains(feature)) {
      text += text.empty() ? "" : " ";
      text += to_string(feature);
    }
  return text;
}

std::optional<Feature> parse_feature(std::string_view name) {
  for (int i = 0; i < kFeatures; ++i)
    if (const auto feature = static_cast<Feature>(i); to_string(feature) == name)
      return feature;
  return std::nullopt;
}

} // namespace tilefuse
