// SPDX-License-Identifier: Apache-2.0
#include "target/nvidia.h"

#include <array>
#include <charconv>
#include <limits>

namespace tilefuse {
namespace {

constexpr std::string_view kGeneration = "sm_";

// The generations that have a feature.
struct Since {
  Feature feature;
  int first = 0;
  int last = std::numeric_limits<int>::max();
};

constexpr std::array<Since, 4> kSince = {{
    {Feature::AsyncCopies, 80},
    {Feature::PackedRounding, 80},
    {Feature::EarlyLaunch, 90},
    {Feature::WarpgroupMatrix, 90, 90},
}};

} // namespace

int nvidia_generation(const Target &target) {
  const std::string_view isa = target.isa;
  const std::size_t at = isa.find(kGeneration);
  int generation = 0;
  if (at != std::string_view::npos)
    std::from_chars(isa.data() + at + kGeneration.size(), isa.data() + isa.size(), generation);
  return generation;
}

bool has_dp4a(int generation) {
  constexpr int kFirst = 61, kWithout = 62;
  return generation >= kFirst && generation != kWithout;
}

Features of_generation(Features features, int generation) {
  for (const Since &since : kSince)
    if (generation < since.first || generation > since.last)
      features = features.without({since.feature});
  return features;
}

} // namespace tilefuse
