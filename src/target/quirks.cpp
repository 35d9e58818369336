// SPDX-License-Identifier: Apache-2.0
#include "target/quirks.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace tilefuse {
namespace {

constexpr std::string_view kNvrtc = "NVRTC";
constexpr CompilerVersion kTried = {13, 0};

constexpr auto kQuirks = std::to_array<QuirkRow>({
    {Quirk::UnheldRoundsSpill, kNvrtc, kTried,
     "loads of more than 32 rounds are begun together and spill"},
    {Quirk::LoneGroupSpills, kNvrtc, kTried, "the group that multiplies spills (sm_90a)"},
    {Quirk::BoxesBesideMaps, kNvrtc, kTried,
     "boxes of results and maps do not fit the registers (sm_90a)"},
    {Quirk::SwappedStreamSpills, kNvrtc, kTried, "the groups that multiply spill (sm_90a)"},
    {Quirk::WideGatherSpills, kNvrtc, kTried,
     "accumulators of an instruction of 256 columns spill (sm_90a)"},
    {Quirk::BoxPlacesSpill, kNvrtc, kTried,
     "places of pixels spill, where three groups leave few registers (sm_90a)"},
    {Quirk::WideResidualSpills, kNvrtc, kTried,
     "128 accumulators leave no registers for a box's places and residuals (sm_90a)"},
    {Quirk::WideAheadSpills, kNvrtc, kTried,
     "boxes leave no registers for what was fetched (sm_90a)"},
    {Quirk::TurnedCopiesSpill, kNvrtc, kTried,
     "addresses of more than 16 copies beside 128 accumulators spill (sm_90a)"},
    {Quirk::EarlyConversion, kNvrtc, kTried,
     "accumulators are converted ahead of a tile's end and each wgmma is waited for (C7514, "
     "sm_90a)"},
});

// "NVRTC 13.0": 13, 0.
CompilerVersion version_in(std::string_view compiler) {
  CompilerVersion version;
  const char *end = compiler.data() + compiler.size();
  const std::size_t at = compiler.find_first_of("0123456789");
  if (at == std::string_view::npos)
    return version;
  const auto [dot, failure] = std::from_chars(compiler.data() + at, end, version.major);
  if (dot != end)
    std::from_chars(dot + 1, end, version.minor);
  return version;
}

} // namespace

std::span<const QuirkRow> quirks() { return kQuirks; }

bool is_gone(const QuirkRow &row, std::string_view compiler) {
  return row.gone != CompilerVersion{} && compiler.starts_with(row.compiler) &&
         version_in(compiler) >= row.gone;
}

bool has(const Target &target, Quirk quirk) {
  return !is_gone(kQuirks[static_cast<std::size_t>(quirk)], target.compiler);
}

} // namespace tilefuse
