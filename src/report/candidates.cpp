// SPDX-License-Identifier: Apache-2.0
#include "report/candidates.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/model.h"
#include "nest/index.h"
#include "schedule/text.h"
#include "search/forms/copies.h"

namespace tilefuse::report {
namespace {

using nest::Nest;
using schedule::Schedule;

// A part of the predicted time of a whole kernel, seconds.
struct Part {
  std::string_view label;
  double seconds = 0;
};

std::vector<Part> parts_of(const cost::Estimate &estimate) {
  return {{"compute", estimate.compute * estimate.waves},
          {"staging", estimate.staging * estimate.waves},
          {"stores", estimate.stores * estimate.waves},
          {"memory", estimate.memory * estimate.waves},
          {"launch", estimate.launch}};
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string indented(const std::string &text) {
  std::string result;
  for (const std::string &line : lines_of(text))
    result += "   " + line + "\n";
  return result;
}

// "3.1 % slower: memory 5.2 us, best 3.1"
std::string loss(const cost::Estimate &estimate, const cost::Estimate &best) {
  std::string worse = worse_parts(estimate, best);
  if (worse.empty() && estimate.blocks != best.blocks)
    worse = fmt::format("{} blocks, best {}", estimate.blocks, best.blocks);
  return fmt::format("{:.1f} % slower{}{}", 100 * (estimate.seconds / best.seconds - 1),
                     worse.empty() ? "" : ": ", worse);
}

// The choice with one number of one index doubled.
struct Neighbour {
  std::string change;
  Schedule schedule;
};

std::vector<Neighbour> neighbours(const Nest &nest, const Schedule &choice) {
  std::vector<Neighbour> result;
  const auto add = [&](nest::IndexId i, std::string_view what,
                       std::int64_t schedule::Split::*part) {
    Neighbour next{{}, choice};
    schedule::Split &split = next.schedule.splits[i];
    const std::int64_t before = split.*part;
    split.*part *= 2;
    if (part != &schedule::Split::tile)
      split.tile = std::max(split.tile, split.step());
    next.change = fmt::format("{} {} {} -> {}", what, nest.indices[i].name, before, split.*part);
    result.push_back(std::move(next));
  };
  for (const nest::IndexId i : nest.indices.ids()) {
    if (is_output(nest, i))
      add(i, "tile", &schedule::Split::tile);
    add(i, "keep", &schedule::Split::keep);
    if (choice.splits[i].lane > 1 && choice.lane_parts.empty())
      add(i, "lane", &schedule::Split::lane);
    if (choice.splits[i].vec > 1)
      add(i, "vec", &schedule::Split::vec);
  }
  return result;
}

std::string neighbours_text(const Nest &nest, const Target &target,
                            const search::Candidate &choice) {
  std::string text;
  for (Neighbour &next : neighbours(nest, choice.schedule)) {
    if (const std::optional<std::string> reason =
            search::assign_copies(nest, next.schedule, target)) {
      text += fmt::format("  {}: refused, {}\n", next.change, *reason);
      continue;
    }
    const cost::Estimate estimate = cost::predict(nest, next.schedule, target);
    const double ratio = estimate.seconds / choice.estimate.seconds;
    text += ratio >= 1 ? fmt::format("  {}: {}\n", next.change, loss(estimate, choice.estimate))
                       : fmt::format("  {}: {:.1f} % faster by the model, outside the search\n",
                                     next.change, 100 * (1 - ratio));
  }
  return text;
}

} // namespace

std::string worse_parts(const cost::Estimate &estimate, const cost::Estimate &best) {
  constexpr double kNotable = 0.01;
  constexpr std::size_t kMost = 2;
  const std::vector<Part> parts = parts_of(estimate);
  const std::vector<Part> reference = parts_of(best);
  std::vector<std::pair<double, std::string>> worse;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const double growth = parts[p].seconds - reference[p].seconds;
    if (growth > kNotable * reference[p].seconds && growth > kNotable * best.seconds)
      worse.emplace_back(growth, fmt::format("{} {:.4g} us, best {:.4g}", parts[p].label,
                                             parts[p].seconds * 1e6, reference[p].seconds * 1e6));
  }
  std::stable_sort(worse.begin(), worse.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  worse.resize(std::min(worse.size(), kMost));
  std::vector<std::string> texts;
  for (const auto &[growth, text] : worse)
    texts.push_back(text);
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string candidates_text(const Nest &nest, const Target &target,
                            const std::vector<search::Candidate> &ranked, bool is_chosen) {
  const std::string first = is_chosen ? "chosen" : "the model's choice, which is not taken";
  const cost::Estimate &best = ranked.front().estimate;
  std::string text;
  for (std::size_t c = 0; c < ranked.size(); ++c)
    text += fmt::format("{}. {}\n{}{}", c + 1, c == 0 ? first : loss(ranked[c].estimate, best),
                        indented(schedule::to_text(nest, ranked[c].schedule)),
                        indented(cost::explain(ranked[c].estimate)));
  return text + (is_chosen ? "next to the choice:\n" : "next to the model's choice:\n") +
         neighbours_text(nest, target, ranked.front());
}

} // namespace tilefuse::report
