// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/bank_map.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kRow = 16;
constexpr double kHead = 22;
constexpr double kPhases = 200; // where banks begin
constexpr double kBanks = 576;  // as wide as all of them
constexpr double kTop = 36;
constexpr double kGap = 8;
constexpr std::size_t kMostAccesses = 40;
constexpr std::size_t kMostPatterns = 12; // of an access

struct Shown {
  const BankAccess &access;

  std::size_t rows() const { return std::min(kMostPatterns, access.patterns.size()); }
  bool is_cut() const { return rows() < access.patterns.size(); }
  double height() const {
    return kHead + kRow * static_cast<double>(rows() + (is_cut() ? 1 : 0)) + kGap;
  }
};

// Nothing asked, one word, two, up to four, more.
std::string_view class_of(std::int64_t words) {
  return words == 0 ? "back" : words == 1 ? "h4" : words == 2 ? "h2" : words <= 4 ? "h1" : "h0";
}

// A path for each class; banks side by side of one class are one box of it.
void banks(Markup &out, const BankPattern &pattern, double y) {
  const double each = kBanks / static_cast<double>(pattern.words.size());
  std::map<std::string_view, std::string> paths;
  for (std::size_t b = 0; b < pattern.words.size(); ++b)
    paths[class_of(pattern.words[b])] +=
        fmt::format("M{} {}h{}v{}h-{}z", number(kPhases + each * static_cast<double>(b)),
                    number(y + 1), number(each - 1), number(kRow - 2), number(each - 1));
  for (const auto &[css, path] : paths)
    out.leaf("path", {{"d", path}, {"class", std::string(css)}});
}

void row(Markup &out, const BankPattern &pattern, double y) {
  label(out, {12, y + 12}, pattern.phases, "small");
  banks(out, pattern, y);
  label(out, {kPhases + kBanks + 8, y + 12},
        fmt::format("{} wavefront{}", pattern.wavefronts, pattern.wavefronts == 1 ? "" : "s"),
        pattern.wavefronts > 1 ? "small" : "small faint");
}

void access_rows(Markup &out, const Shown &shown, double y) {
  label(out, {0, y + 16}, fitted(shown.access.text, kWidth - 330));
  label(out, {kWidth, y + 16}, to_text(shown.access.all), "end small faint");
  for (std::size_t p = 0; p < shown.rows(); ++p)
    row(out, shown.access.patterns[p], y + kHead + kRow * static_cast<double>(p));
  if (shown.is_cut())
    label(out, {12, y + kHead + kRow * static_cast<double>(shown.rows()) + 12},
          fmt::format("{} patterns more; simulate --banks prints all",
                      shown.access.patterns.size() - shown.rows()),
          "small faint");
}

void legend(Markup &out) {
  constexpr double kStep = 120;
  const std::vector<std::pair<std::int64_t, std::string_view>> classes = {
      {0, "not asked"}, {1, "1 word"}, {2, "2 words"}, {4, "3 or 4"}, {5, "more"}};
  double x = kPhases;
  for (const auto &[words, says] : classes) {
    box(out, {{x, 2}, 14, 12}, class_of(words));
    label(out, {x + 20, 12}, says, "small");
    x += kStep;
  }
}

void axis(Markup &out, std::size_t banks) {
  label(out, {kPhases - 8, kTop - 6}, "bank", "end small faint");
  const double each = kBanks / static_cast<double>(banks);
  for (std::size_t b = 0; b < banks; b += std::max<std::size_t>(1, banks / 8))
    label(out, {kPhases + each * (static_cast<double>(b) + 0.5), kTop - 6}, fmt::format("{}", b),
          "mid small faint");
}

} // namespace

void bank_map(Markup &out, std::span<const BankAccess> accesses) {
  const auto most = accesses.first(std::min(kMostAccesses, accesses.size()));
  if (most.empty())
    return;
  double height = kTop;
  for (const BankAccess &access : most)
    height += Shown{access}.height();
  open_picture(out, height, "Words of each bank of local memory that phases of warps ask for");
  legend(out);
  axis(out, most.front().patterns.front().words.size());
  double y = kTop;
  for (const BankAccess &access : most) {
    access_rows(out, {access}, y);
    y += Shown{access}.height();
  }
  out.close();
}

} // namespace tilefuse::report::html
