// SPDX-License-Identifier: Apache-2.0
#include "cost/vector/vector_figures.h"

#include "cost/footprint.h"
#include "schedule/blocks.h"
#include "schedule/result_tile.h"
#include "schedule/staging.h"

namespace tilefuse::cost {

// One work-item a block: it waits for nobody, and has its lanes in vectors.
Figures vector_figures(const nest::Nest &nest, const schedule::Schedule &schedule) {
  Figures figures;
  figures.blocks = static_cast<double>(schedule::blocks(nest, schedule));
  figures.work_items = 1;
  figures.barriers = 0;
  figures.local_bytes = 0;
  const std::vector<Stream> all = streams(nest, schedule);
  figures.grid_bytes = bytes_in_memory(nest, all, sources(nest, schedule, all));
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (is_staged(schedule.fills[k]))
      *figures.local_bytes += static_cast<double>(stage_bytes(nest, schedule, static_cast<int>(k)));
  *figures.local_bytes += static_cast<double>(result_bytes(nest, schedule));
  return figures;
}

} // namespace tilefuse::cost
