// SPDX-License-Identifier: Apache-2.0
#include "target/async_copies.h"

#include <charconv>

namespace tilefuse {
namespace {

constexpr int kFirst = 80;
constexpr std::string_view kGeneration = "sm_";

} // namespace

bool has_async_copies(const Target &target) {
  const std::string_view isa = target.isa;
  const std::size_t at = isa.find(kGeneration);
  if (at == std::string_view::npos)
    return false;
  int generation = 0;
  std::from_chars(isa.data() + at + kGeneration.size(), isa.data() + isa.size(), generation);
  return generation >= kFirst;
}

} // namespace tilefuse
