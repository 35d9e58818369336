// SPDX-License-Identifier: Apache-2.0
#include "target/nvidia.h"

#include <charconv>

namespace tilefuse {
namespace {

constexpr std::string_view kGeneration = "sm_";

} // namespace

int nvidia_generation(const Target &target) {
  const std::string_view isa = target.isa;
  const std::size_t at = isa.find(kGeneration);
  int generation = 0;
  if (at != std::string_view::npos)
    std::from_chars(isa.data() + at + kGeneration.size(), isa.data() + isa.size(), generation);
  return generation;
}

} // namespace tilefuse
