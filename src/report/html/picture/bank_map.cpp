// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/bank_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kRow = 22;
constexpr double kNames = 420;
constexpr double kCell = 30;
constexpr double kTop = 20;
constexpr std::size_t kMostAccesses = 40;
constexpr std::size_t kMostPhases = 20;

// No conflict, up to two words of a bank, up to four, more.
std::string_view class_of(double wavefronts) {
  return wavefronts <= 1 ? "h4" : wavefronts <= 2 ? "h2" : wavefronts <= 4 ? "h1" : "h0";
}

void row(Markup &out, const kernel::AccessCounts &access, double y) {
  label(out, {0, y + 15}, fitted(access.text, kNames - 10));
  const std::size_t phases = std::min(kMostPhases, access.phases.size());
  for (std::size_t p = 0; p < phases; ++p) {
    const kernel::PhaseCounts &phase = access.phases[p];
    if (phase.phases == 0)
      continue;
    const double each = static_cast<double>(phase.wavefronts) / static_cast<double>(phase.phases);
    const double x = kNames + kCell * static_cast<double>(p);
    box(out, {{x, y + 1}, kCell - 2, kRow - 3}, class_of(each),
        fmt::format("phase {}: {} wavefronts in {} requests", p, phase.wavefronts, phase.phases));
    label(out, {x + kCell / 2 - 1, y + 15}, number(each), "mid on small");
  }
}

} // namespace

void bank_map(Markup &out, std::span<const kernel::AccessCounts> accesses) {
  const std::size_t shown = std::min(kMostAccesses, accesses.size());
  open_picture(out, kTop + kRow * static_cast<double>(shown) + 4,
               "Wavefronts of each phase of the accesses of local memory");
  label(out, {0, 12}, "access", "faint");
  label(out, {kNames, 12}, "wavefronts of each phase; 1 is free of conflicts", "faint");
  for (std::size_t a = 0; a < shown; ++a)
    row(out, accesses[a], kTop + kRow * static_cast<double>(a));
  out.close();
}

} // namespace tilefuse::report::html
