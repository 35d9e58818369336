// SPDX-License-Identifier: Apache-2.0
// Results of wgmma that leave by tensor stores (schedule/wgmma/wgmma.h): a warp fills one of its
// buffers with rows of a panel while the copies of those before may still run.
#pragma once

#include "lower/mma/gemm_part.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_panels.h"

namespace tilefuse::lower {

class ResultBoxes : GemmPart {
public:
  explicit ResultBoxes(Context &context);

  std::int64_t columns() const { return panel_.columns; } // of a panel
  // Appends the names that the others need, at the start of a tile.
  void place_warp(Stmts &list);
  // Until this warp may fill its next box.
  StmtRef open();
  // Neighbouring results into a row of box number `box` of the tile, from column `apart` + `along`
  // on; the one is a multiple of 16 bytes or the other lies in the first of them.
  StmtRef put(std::int64_t box, ExprRef row, std::int64_t apart, ExprRef along, ExprRef results);
  // Sends the box off to column `column` of points from `row` on.
  StmtRef send(std::int64_t box, ExprRef row, ExprRef column);
  // Behind the last tile: until no copy reads local memory.
  StmtRef end();

private:
  ExprRef first_of(std::int64_t box);

  const schedule::StorePanel panel_;
  const schedule::DataMap lies_;
  kernel::MapId map_{};
  BufferId buffer_{-1};
  ExprRef first_{}; // of this warp's boxes
};

} // namespace tilefuse::lower
