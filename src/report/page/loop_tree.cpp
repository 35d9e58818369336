// SPDX-License-Identifier: Apache-2.0
#include "report/page/loop_tree.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nest/index.h"
#include "schedule/blocks.h"

namespace tilefuse::report {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Schedule;

std::int64_t rounds(std::int64_t points, std::int64_t each) {
  return (points + each - 1) / std::max<std::int64_t>(1, each);
}

// "m 2, y 8" of the indices with more than one.
template <typename Count> std::string counts(const Nest &nest, const Count &count) {
  std::vector<std::string> parts;
  for (const IndexId i : nest.indices.ids())
    if (const std::int64_t many = count(i); many > 1)
      parts.push_back(fmt::format("{} {}", nest.indices[i].name, many));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string loop_text(const Nest &nest, const Schedule &schedule, IndexId i, std::int64_t trips) {
  std::string text = fmt::format("loop {}: {} step{} of {}", nest.indices[i].name, trips,
                                 trips == 1 ? "" : "s", schedule.splits[i].step());
  if (!is_output(nest, i))
    text += ", summed";
  for (std::size_t k = 0; k < schedule.pipes.size(); ++k)
    if (is_staged(schedule.fills[k]) && schedule.pipes[k].at == i)
      text += fmt::format("; fills the buffer of input {}", k);
  return text;
}

} // namespace

std::vector<LoopLevel> loop_tree(const Nest &nest, const Schedule &schedule) {
  const auto grid = [&](IndexId i) {
    return is_output(nest, i) ? rounds(extent(nest, i), schedule.splits[i].of_block()) : 1;
  };
  const std::int64_t blocks = schedule::blocks(nest, schedule);
  const std::string of = counts(nest, grid);
  std::vector<LoopLevel> levels = {{fmt::format("grid{}{}: {} block{}", of.empty() ? "" : " ", of,
                                                blocks, blocks == 1 ? "" : "s"),
                                    blocks}};
  for (const IndexId i : schedule.order) {
    const std::int64_t points = is_output(nest, i)
                                    ? std::min(extent(nest, i), schedule.splits[i].of_block())
                                    : extent(nest, i);
    if (const std::int64_t trips = rounds(points, schedule.splits[i].step()); trips > 1)
      levels.push_back({loop_text(nest, schedule, i, trips), trips});
  }
  if (has_core(schedule))
    levels.push_back({fmt::format("matrix instruction {}, {} points of a tile by {} x {} warps",
                                  schedule.core.op->name, schedule.core.rows,
                                  schedule.core.warp_rows, schedule.core.warp_columns)});
  const std::string copies = counts(nest, [&](IndexId i) { return schedule.splits[i].keep; });
  if (!copies.empty())
    levels.push_back({"registers: " + copies + " copies, written out"});
  const std::string lanes = counts(nest, [&](IndexId i) { return schedule.splits[i].lane; });
  if (!lanes.empty())
    levels.push_back({fmt::format(
        "{}: {}", schedule.lanes == LaneKind::Vector ? "vector" : "work-items", lanes)});
  return levels;
}

} // namespace tilefuse::report
