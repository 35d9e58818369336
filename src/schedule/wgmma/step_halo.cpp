// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/step_halo.h"

#include "base/divide.h"
#include "base/index.h"
#include "base/range.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
std::int64_t halo_columns(const Gemm &gemm) { return gemm.halo.taps * gemm.panel; }
std::int64_t halo_rows(const Gemm &gemm) { return gemm.tile.depth + gemm.halo.reach(); }
std::int64_t halo_elems(const Gemm &gemm) {
  const std::int64_t bytes = halo_rows(gemm) * gemm.panel * gemm.tile.elem_bytes;
  return round_up(bytes, kBoxAlign) / gemm.tile.elem_bytes;
}

std::optional<std::string> wrong_step_halo(const Gemm &gemm) {
  if (gemm.schedule.pipes[at(gemm.roles.filter)].footprint != Footprint::StepHalo)
    return {};
  const std::int64_t columns = halo_columns(gemm);
  return outside({{"step_halo.taps", gemm.halo.taps, 2, kNoEnd},
                  {"instruction.columns", gemm.core().op->n, columns, columns}});
}

} // namespace tilefuse::schedule
