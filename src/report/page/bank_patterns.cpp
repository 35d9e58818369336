// SPDX-License-Identifier: Apache-2.0
#include "report/page/bank_patterns.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace tilefuse::report {
namespace {

using kernel::BankPhase;

// "warp 3", "warps 0-7", "4 warps" where they are no range.
std::string numbered(const char *what, const std::set<std::size_t> &numbers) {
  if (numbers.size() == 1)
    return fmt::format("{} {}", what, *numbers.begin());
  if (*numbers.rbegin() - *numbers.begin() + 1 == numbers.size())
    return fmt::format("{}s {}-{}", what, *numbers.begin(), *numbers.rbegin());
  return fmt::format("{} {}s", numbers.size(), what);
}

std::string phases_text(const std::vector<const BankPhase *> &of) {
  std::set<std::size_t> warps;
  std::set<std::size_t> phases;
  for (const BankPhase *one : of) {
    warps.insert(one->warp);
    phases.insert(one->phase);
  }
  return of.size() == warps.size() * phases.size()
             ? numbered("warp", warps) + ", " + numbered("phase", phases)
             : fmt::format("{} phases of {}", of.size(), numbered("warp", warps));
}

std::vector<BankPattern> patterns_of(const std::vector<BankPhase> &phases) {
  std::vector<std::vector<const BankPhase *>> alike;
  for (const BankPhase &phase : phases) {
    const auto found = std::find_if(alike.begin(), alike.end(), [&](const auto &group) {
      return group.front()->words == phase.words;
    });
    if (found == alike.end())
      alike.push_back({&phase});
    else
      found->push_back(&phase);
  }
  std::vector<BankPattern> patterns;
  for (const auto &group : alike) {
    const std::vector<std::uint16_t> &words = group.front()->words;
    patterns.push_back({words, phases_text(group), *std::max_element(words.begin(), words.end())});
  }
  return patterns;
}

char digit(std::uint16_t words) {
  return words == 0 ? '.' : words > 9 ? '+' : static_cast<char>('0' + words);
}

} // namespace

std::vector<BankAccess> bank_accesses(const kernel::Counts &counts,
                                      const kernel::BankTrace &trace) {
  std::vector<BankAccess> accesses;
  for (std::size_t a = 0; a < trace.size(); ++a)
    if (!trace[a].empty())
      accesses.push_back(
          {counts.accesses[a].text, counts.accesses[a].all_phases(), patterns_of(trace[a])});
  return accesses;
}

std::string to_text(const kernel::PhaseCounts &all) {
  return fmt::format("{} wavefronts in {} phases, {} conflicts", all.wavefronts, all.phases,
                     all.conflicts());
}

std::string to_text(std::span<const BankAccess> accesses) {
  std::string text;
  for (const BankAccess &access : accesses) {
    text += fmt::format("{}: {}\n", access.text, to_text(access.all));
    for (const BankPattern &pattern : access.patterns) {
      std::string row;
      for (const std::uint16_t words : pattern.words)
        row += digit(words);
      text += fmt::format("  {:<22} {}  {} wavefront{}\n", pattern.phases, row, pattern.wavefronts,
                          pattern.wavefronts == 1 ? "" : "s");
    }
  }
  return text;
}

} // namespace tilefuse::report
