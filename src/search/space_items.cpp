// SPDX-License-Identifier: Apache-2.0
// Of what Space tries: plain maps and reductions of work-items that load and store whole vectors.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/index.h"
#include "nest/index.h"
#include "search/space.h"

namespace tilefuse::search {
namespace {

using schedule::Schedule;
using schedule::Split;

constexpr std::int64_t kWidestStore = 16; // bytes
constexpr std::int64_t kMapPixels = 4;    // of a work-item
constexpr std::array<std::int64_t, 2> kRowItems = {128, 256};

// Work-items along so many steps, at most `most`, of which few are idle.
std::int64_t items_along(std::int64_t steps, std::int64_t most) {
  const std::int64_t blocks = (steps + most - 1) / most;
  return (steps + blocks - 1) / blocks;
}

} // namespace

// Whether rows of the result hold whole vectors, or begin at multiples of them: the last vector of
// a row may then be a part.
bool Space::has_whole_vectors(IndexId lane, std::int64_t vec) const {
  if (extent(lane) % vec == 0)
    return true;
  bool has_rows = false;
  for (const IndexId i : output_indices(nest_)) {
    if (i == lane || extent(i) == 1)
      continue;
    has_rows = true;
    if (out_.coeff[i] % vec != 0)
      return false;
  }
  return has_rows && out_.constant % vec == 0;
}

// Vectors along the fastest index, of several pixels each, or several where there is no other index.
// What lies across in an input is read element by element.
void Space::try_wide_items() {
  const std::optional<IndexId> lane = lane_ && out_.coeff[*lane_] == 1 ? lane_ : fastest_output();
  if (!lane || out_.coeff[*lane] != 1)
    return;
  const std::optional<IndexId> pixel = lane == lane_ ? pixel_ : copies_beside(lane);
  const bool is_turned = nest_.inputs.size() == 1 && std::llabs(stride(0, *lane)) > 1;
  const std::int64_t size = size_bytes(type_of(nest_, nest_.out));
  for (std::int64_t vec = kWidestStore / size; vec > (is_turned ? 0 : 1); vec /= 2) {
    if (!has_whole_vectors(*lane, vec))
      continue;
    const std::int64_t row = (extent(*lane) + vec - 1) / vec;
    for (std::int64_t keep = 1; keep <= kMapPixels; ++keep) {
      if (keep > 1 && pixel && keep > extent(*pixel))
        break;
      Schedule schedule = base();
      if (pixel)
        schedule.splits[*pixel] = {keep, keep, 1};
      const std::int64_t along = pixel ? 1 : keep;
      for (const std::int64_t lanes : lane_widths())
        if (along * lanes * vec < 2 * extent(*lane)) {
          schedule.splits[*lane] = {along * lanes * vec, along, lanes, vec};
          add(schedule);
        }
      if (along > 1)
        continue;
      schedule.splits[*lane] = {row * vec, 1, row, vec};
      for (const std::int64_t items : kRowItems)
        try_items_over_rows(schedule, *lane, items);
    }
  }
}

// Work-items that the fastest index has no vectors for, along the indices behind it.
void Space::try_items_over_rows(Schedule schedule, IndexId lane, std::int64_t items) {
  std::vector<IndexId> others;
  for (const IndexId i : output_indices(nest_))
    if (i != lane)
      others.push_back(i);
  std::stable_sort(others.begin(), others.end(), [&](IndexId a, IndexId b) {
    return std::llabs(out_.coeff[a]) < std::llabs(out_.coeff[b]);
  });
  std::int64_t left = items / schedule.splits[lane].lane;
  schedule.lane_parts = {{lane, schedule.splits[lane].lane}};
  for (const IndexId i : others) {
    if (left <= 1)
      break;
    Split &split = schedule.splits[i];
    const std::int64_t along = items_along((extent(i) + split.keep - 1) / split.keep, left);
    if (along <= 1)
      continue;
    split = {split.keep * along, split.keep, along};
    schedule.lane_parts.insert(schedule.lane_parts.begin(), {i, along});
    left /= along;
  }
  if (schedule.lane_parts.size() > 1)
    add(std::move(schedule));
}

} // namespace tilefuse::search
