// SPDX-License-Identifier: Apache-2.0
#include "schedule/result_tile.h"

#include <algorithm>
#include <cstdlib>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kShortRun = 16; // points: a shorter run goes on through further loops
constexpr double kMostElems = 1 << 24;

std::size_t place_in_order(const Schedule &schedule, IndexId index) {
  const auto found = std::find(schedule.order.begin(), schedule.order.end(), index);
  return static_cast<std::size_t>(found - schedule.order.begin());
}

// Along which a step's results are stored to the buffer.
std::optional<IndexId> stored_index(const Schedule &schedule) {
  if (const std::optional<IndexId> vector = vector_index(schedule))
    return vector;
  const std::vector<LanePart> digits = lane_digits(schedule);
  return digits.empty() ? std::nullopt : std::optional(digits.back().index);
}

// Output indices of several points, fastest in the result first.
std::vector<IndexId> by_stride(const Nest &nest, const nest::Linear &out) {
  std::vector<IndexId> indices;
  for (const IndexId i : output_indices(nest))
    if (extent(nest, i) > 1)
      indices.push_back(i);
  std::stable_sort(indices.begin(), indices.end(), [&](IndexId a, IndexId b) {
    return std::llabs(out.coeff[a]) < std::llabs(out.coeff[b]);
  });
  return indices;
}

bool is_loop(const Schedule &schedule, IndexId index) {
  return schedule.splits[index].tile > schedule.splits[index].step();
}

// Points of an index that are stored of so many: with work-items also those past the extent.
std::int64_t held(const Nest &nest, const Schedule &schedule, IndexId index, std::int64_t points) {
  return schedule.lanes == LaneKind::Vector ? std::min(points, extent(nest, index)) : points;
}

// Adds the indices of a run, and the loops that fill it.
void make_run(const Nest &nest, const Schedule &schedule, ResultTile &tile) {
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  tile.level = schedule.order.size();
  std::int64_t points = 1;
  for (const IndexId i : by_stride(nest, out)) {
    if (i == tile.lane)
      continue;
    const std::size_t place = place_in_order(schedule, i);
    const bool is_outside = is_loop(schedule, i) && place < tile.level;
    if (tile.run.empty())
      tile.run_stride = out.coeff[i];
    else if (out.coeff[i] != tile.run_stride * points || (is_outside && points >= kShortRun))
      return;
    if (is_outside)
      tile.level = place;
    tile.run.push_back(i);
    points *= extent(nest, i);
    if (held(nest, schedule, i, schedule.splits[i].tile) != extent(nest, i))
      return;
  }
}

std::int64_t row_elems(const Schedule &schedule, std::int64_t points) {
  const std::int64_t width = vector_width(schedule);
  return schedule.lanes == LaneKind::Vector ? (points + width - 1) / width * width : points | 1;
}

} // namespace

std::int64_t ResultTile::run_points() const {
  std::int64_t points = 1;
  for (const IndexId i : run)
    points *= dims[i].points;
  return points;
}

std::int64_t ResultTile::runs() const {
  std::int64_t count = dims[lane].points;
  for (const IndexId i : others)
    count *= dims[i].points;
  return count;
}

std::optional<IndexId> fastest_in_result(const Nest &nest) {
  const std::vector<IndexId> indices = by_stride(nest, nest::flat(nest.out, nest.indices.size()));
  return indices.empty() ? std::nullopt : std::optional(indices.front());
}

ResultTile result_tile(const Nest &nest, const Schedule &schedule) {
  ResultTile tile{.lane = *stored_index(schedule)};
  make_run(nest, schedule, tile);
  for (const IndexId i : output_indices(nest)) {
    const Split &split = schedule.splits[i];
    const bool is_tile = place_in_order(schedule, i) >= tile.level || !is_loop(schedule, i);
    tile.dims.push_back({held(nest, schedule, i, is_tile ? split.tile : split.step()), 0, is_tile});
    const bool in_run = std::find(tile.run.begin(), tile.run.end(), i) != tile.run.end();
    if (i != tile.lane && !in_run && tile.dims[i].points > 1)
      tile.others.push_back(i);
  }
  tile.dims[tile.lane].stride = 1;
  tile.elems = row_elems(schedule, tile.dims[tile.lane].points);
  for (const std::vector<IndexId> *list : {&tile.run, &tile.others})
    for (const IndexId i : *list) {
      tile.dims[i].stride = tile.elems;
      tile.elems *= tile.dims[i].points;
    }
  return tile;
}

std::int64_t result_bytes(const Nest &nest, const Schedule &schedule) {
  return schedule.store == Store::Local
             ? result_tile(nest, schedule).elems * size_bytes(type_of(nest, nest.out))
             : 0;
}

std::optional<std::string> wrong_result_store(const Nest &nest, const Schedule &schedule) {
  if (schedule.store == Store::Direct || (schedule.store == Store::Tma && has_core(schedule)))
    return {};
  if (has_core(schedule))
    return "results of a matrix instruction are stored local, which only lanes' are";
  if (schedule.store == Store::Tma)
    return "results of lanes leave by no tensor copies";
  const std::optional<IndexId> lane = stored_index(schedule);
  if (!lane)
    return "results are stored local without lanes along which they could lie";
  double elems = 1;
  bool has_run = false;
  for (const IndexId i : output_indices(nest)) {
    elems *= static_cast<double>(schedule.splits[i].tile + 1);
    has_run = has_run || (i != lane && extent(nest, i) > 1);
  }
  if (!has_run)
    return "results are stored local and have no index but that of the lanes";
  if (elems > kMostElems)
    return "a block's results are too many to be stored local";
  return {};
}

} // namespace tilefuse::schedule
