// SPDX-License-Identifier: Apache-2.0
#include "cost/tile_join.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tilefuse::cost {
namespace {

constexpr double kPartBytes = 4;

double ceil_div(std::int64_t a, std::int64_t b) { return static_cast<double>((a + b - 1) / b); }

} // namespace

double tile_join_seconds(const schedule::TileJoin &join, std::int64_t items, const Rates &rates) {
  const std::int64_t workers = items - join.walk.first_item;
  const std::int64_t blocks = std::accumulate(join.walk.blocks.begin(), join.walk.blocks.end(),
                                              std::int64_t{1}, std::multiplies<>());
  const std::int64_t dealt = blocks * group_size(join.schedule);
  std::int64_t together = 1; // parts that are loaded at a time
  for (std::size_t i = static_cast<std::size_t>(join.nest.output_indices);
       i < join.nest.indices.size(); ++i)
    together *= join.schedule.splits[i].keep;
  const std::int64_t parts = join.walk.parts();
  const double loads = ceil_div(dealt, workers) * ceil_div(parts, together);
  const double elems =
      static_cast<double>(dealt * schedule::vector_width(join.schedule) * (parts + 1));
  return rates.tile_join_seconds +
         std::max(loads * rates.load_round_seconds, elems * kPartBytes / rates.unit_bytes_per_s);
}

} // namespace tilefuse::cost
