// SPDX-License-Identifier: Apache-2.0
#include "search/sample_core.h"

#include <algorithm>

#include "schedule/legal.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "search/forms/core_forms.h"

namespace tilefuse::search {
namespace {

using schedule::Schedule;

constexpr int kTries = 48;

// Output loops anyhow; the reduced ones too, the depth innermost.
void shuffle_loops(const nest::Nest &nest, Schedule &schedule, Random &random) {
  const auto middle = schedule.order.begin() + nest.output_indices;
  random.shuffle(schedule.order.begin(), middle);
  if (middle != schedule.order.end())
    random.shuffle(middle, schedule.order.end() - 1);
}

} // namespace

std::optional<Schedule> sample_core(const nest::Nest &nest, const Target &target, Random &random) {
  if (schedule::no_core_roles(nest, false))
    return {};
  const bool tf32 = schedule::core_op_for(nest) == nullptr;
  const CoreOp *op = schedule::core_op_for(nest, {.tf32 = tf32});
  for (int i = 0; op != nullptr && i < kTries; ++i) {
    const std::int64_t warp_rows = random.of<std::int64_t>({1, 2, 4});
    const std::int64_t warp_columns = random.of<std::int64_t>({1, 2, 4});
    const TileSizes sizes = {.rows = warp_rows * 16 * random.between(1, 3),
                             .columns = warp_columns * 16 * random.between(1, 4),
                             .warp_rows = warp_rows,
                             .warp_columns = warp_columns,
                             .row_bytes = random.of<std::int64_t>({32, 64, 128}),
                             .stages = static_cast<int>(random.between(2, 5))};
    Schedule drawn = core_form(nest, *op, "sample", sizes);
    if (illegal(nest, drawn, target))
      continue;
    Schedule shuffled = drawn;
    shuffle_loops(nest, shuffled, random);
    return illegal(nest, shuffled, target) ? drawn : shuffled;
  }
  return {};
}

} // namespace tilefuse::search
