// SPDX-License-Identifier: Apache-2.0
#include "report/candidates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/group_model.h"
#include "nest/index.h"
#include "schedule/members.h"
#include "search/forms/copies.h"

namespace tilefuse::report {
namespace {

using nest::Nest;
using schedule::Schedule;
using Kind = Weighed::Kind;

constexpr double kAlike = 0.005; // of the time

// The lines of a schedule behind its first, by what they are of: "tile", "stage 0".
struct Line {
  std::string of;
  std::vector<std::string> words;
};

bool is_of_input(const std::string &word) {
  return word == "stage" || word == "pack" || word == "pipe" || word == "role" ||
         word == "prefetch" || word == "pipeline";
}

std::vector<Line> lines_of(const std::string &text) {
  std::vector<Line> lines;
  std::istringstream whole(text);
  for (std::string line; std::getline(whole, line);) {
    std::istringstream words(line);
    Line next;
    words >> next.of;
    if (std::string input; is_of_input(next.of) && words >> input)
      next.of += " " + input;
    for (std::string word; words >> word;)
      next.words.push_back(word);
    lines.push_back(std::move(next));
  }
  return lines;
}

// "y:7→4" where both have the name before the colon, else "14→16".
std::string change_of(const std::string &from, const std::string &to) {
  const std::size_t colon = to.find(':');
  const bool is_named = colon != to.npos && from.compare(0, colon + 1, to, 0, colon + 1) == 0;
  return fmt::format("{}→{}", from, is_named ? to.substr(colon + 1) : to);
}

// The words that changed, or all where their number did.
std::string changed(const Line &from, const Line &to) {
  std::vector<std::string> parts;
  if (from.words.size() != to.words.size())
    return fmt::format("{} {}→{}", to.of, fmt::join(from.words, " "), fmt::join(to.words, " "));
  for (std::size_t w = 0; w < to.words.size(); ++w)
    if (from.words[w] != to.words[w])
      parts.push_back(change_of(from.words[w], to.words[w]));
  return fmt::format("{} {}", to.of, fmt::join(parts, " "));
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
    next.change = fmt::format("{} {}:{}→{}", what, nest.indices[i].name, before, split.*part);
    result.push_back(std::move(next));
  };
  for (const nest::IndexId i : nest.indices.ids()) {
    if (is_output(nest, i))
      add(i, "tile", &schedule::Split::tile);
    add(i, "reg", &schedule::Split::keep);
    if (choice.splits[i].lane > 1 && choice.lane_parts.empty())
      add(i, "lane", &schedule::Split::lane);
    if (choice.splits[i].vec > 1)
      add(i, "vec", &schedule::Split::vec);
  }
  return result;
}

// One schedule's row, against the chosen one.
Weighed against(const Weighed &chosen, const poly::Group &group, const Schedule &schedule,
                const Target &target) {
  Weighed row;
  row.seconds = cost::predict(group, schedule, target).seconds;
  row.demands = cost::demands(group, schedule, target);
  row.why_not = std::abs(*row.seconds - *chosen.seconds) < kAlike * *chosen.seconds
                    ? "as fast, by the model"
                    : worse_demands(row.demands, chosen.demands, *chosen.seconds);
  return row;
}

void add_neighbours(std::vector<Weighed> &rows, const poly::Group &group, const Target &target,
                    const Schedule &choice) {
  for (Neighbour &next : neighbours(group.anchor, choice)) {
    const std::optional<std::string> refusal =
        search::assign_copies(group.anchor, next.schedule, target);
    Weighed row = refusal ? Weighed{.why_not = "refused: " + *refusal}
                          : against(rows.front(), group, next.schedule, target);
    row.kind = Kind::Neighbour;
    row.differs = std::move(next.change);
    if (row.seconds && *row.seconds < *rows.front().seconds)
      row.why_not = "outside the search";
    rows.push_back(std::move(row));
  }
}

// "+3.1%"
std::string against_text(const Weighed &row, double chosen) {
  return row.seconds && row.kind != Kind::Chosen && chosen > 0
             ? fmt::format("{:+.1f}%", 100 * (*row.seconds / chosen - 1))
             : "";
}

std::string name_of(const Weighed &row) {
  switch (row.kind) {
  case Kind::Chosen:
    return "chosen";
  case Kind::Ranked:
    return fmt::format("candidate {}", row.rank);
  case Kind::Neighbour:
    return "next to it";
  }
  return {};
}

} // namespace

std::string worse_demands(const cost::Demands &demands, const cost::Demands &chosen,
                          double seconds) {
  constexpr double kNotable = 0.01;
  constexpr std::size_t kMost = 2;
  std::map<std::string_view, double> of_chosen;
  for (const cost::Demand &demand : chosen)
    of_chosen[demand.what] = demand.seconds;
  std::vector<std::pair<double, std::string>> worse;
  for (const cost::Demand &demand : demands) {
    const double before = of_chosen[demand.what];
    const double growth = demand.seconds - before;
    if (growth > kNotable * before && growth > kNotable * seconds)
      worse.emplace_back(growth, fmt::format("{} {:.3g} us, chosen {:.3g}", demand.what,
                                             demand.seconds * 1e6, before * 1e6));
  }
  std::stable_sort(worse.begin(), worse.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  worse.resize(std::min(worse.size(), kMost));
  std::vector<std::string> texts;
  for (const auto &[growth, text] : worse)
    texts.push_back(text);
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string difference(const std::string &chosen, const std::string &other) {
  const std::vector<Line> from = lines_of(chosen);
  const std::vector<Line> to = lines_of(other);
  const auto find = [](const std::vector<Line> &lines, const std::string &of) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const Line &line) { return line.of == of; });
  };
  std::vector<std::string> parts;
  for (const Line &line : to) {
    const auto found = find(from, line.of);
    if (found == from.end())
      parts.push_back(fmt::format("{} {} added", line.of, fmt::join(line.words, " ")));
    else if (found->words != line.words)
      parts.push_back(changed(*found, line));
  }
  for (const Line &line : from)
    if (find(to, line.of) == to.end())
      parts.push_back(fmt::format("no {}", line.of));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<Weighed> weigh(const poly::Group &group, const Target &target, const Schedule &chosen,
                           const std::string &by, const std::vector<search::Candidate> &ranked) {
  std::vector<Weighed> rows = {{.kind = Kind::Chosen,
                                .seconds = cost::predict(group, chosen, target).seconds,
                                .demands = cost::demands(group, chosen, target),
                                .why_not = by}};
  const std::string text = schedule::to_text(group, chosen);
  for (std::size_t c = 0; c < ranked.size(); ++c) {
    if (ranked[c].schedule == chosen) {
      rows.front().rank = c + 1;
      continue;
    }
    Weighed row = against(rows.front(), group, ranked[c].schedule, target);
    row.rank = c + 1;
    row.differs = difference(text, schedule::to_text(group, ranked[c].schedule));
    rows.push_back(std::move(row));
  }
  if (is_alone(group))
    add_neighbours(rows, group, target, chosen);
  const auto order = [](const Weighed &row) {
    return std::pair(row.kind, row.seconds.value_or(1e30));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Weighed &a, const Weighed &b) { return order(a) < order(b); });
  return rows;
}

Table candidate_table(std::span<const Weighed> weighed) {
  Table table{.columns = {{"schedule", "schedule"},
                          {"differs", "differs", false, Column::Fit::Cut},
                          {"us", "seconds", true},
                          {"against", "against", true},
                          {"why not", "why_not", false, Column::Fit::Cut}},
              .rows = {},
              .sums = {}};
  const double chosen = weighed.empty() ? 0 : weighed.front().seconds.value_or(0);
  for (const Weighed &row : weighed)
    table.rows.push_back(
        {cell(name_of(row)), cell(row.differs),
         row.seconds ? Cell{fmt::format("{:.1f}", *row.seconds * 1e6), *row.seconds} : Cell{},
         cell(against_text(row, chosen)),
         cell(row.kind == Kind::Chosen ? "chosen by " + row.why_not : row.why_not,
              row.seconds ? Tone::Plain : Tone::Faint)});
  return table;
}

} // namespace tilefuse::report
