// SPDX-License-Identifier: Apache-2.0
// The tiles that a block with wgmma takes: their numbers, and where one begins.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "lower/mma/gemm_part.h"
#include "lower/wgmma/wgmma_cluster.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

// A panel of columns of a turned filter beside turned data (schedule/mma/core.h): channels at one
// tap.
struct TurnedPanel {
  ExprRef channel{}; // its first
  Positions points;  // of its taps, others 0
};
// Columns of a panel of an input that lies turned.
inline std::int64_t panel_columns(const schedule::Gemm &gemm, int input) {
  return input == gemm.roles.filter ? gemm.panel : schedule::kPanelBytes / gemm.tile.elem_bytes;
}

class WgmmaTiles : GemmPart {
public:
  WgmmaTiles(Context &context, const WgmmaCluster &cluster);

  const WgmmaCluster &cluster() const { return cluster_; }
  // How columns are numbered.
  const schedule::ColumnPlan &plan() const { return plan_; }
  // Rows are a box of pixels; empty: pixels as one number.
  const schedule::PixelBox &box() const { return box_; }
  // Largest number of tiles (in a cluster: of groups of tiles) that one block takes.
  std::int64_t most() const;
  // Distance between the numbers of two tiles that a block takes one after the other.
  std::int64_t apart() const { return b_.kernel().blocks / cluster_.size(); }
  // Loop over the tiles that this block takes: every apart()-th one; where groups of warps take
  // turns, only those of group `turn` (null: all).
  StmtRef each(ExprRef turn, const std::function<void(ExprRef tile, Stmts &)> &body);
  // Sets the indices of the grid and of a box to where tile number `tile` begins; columns or rows
  // change fastest. In a cluster the number is that of a group of tiles, one to each block.
  void take_apart(ExprRef tile, Stmts &list);
  // Sets the column to the first, where there is one tile of columns.
  void take_all_columns() { first_column_ = b_.integer(0); }
  // First point, by index, of the tile last taken apart; 0 for indices that a tile walks over.
  Positions first_points() const;
  // Loop over this block's steps of a tile of straight data: the depth innermost, or outermost
  // where windows serve all taps. `points` follow the loop.
  using Body = std::function<StmtRef()>;
  StmtRef each_step(Positions &points, const Body &body);
  // The same over the steps from `begin` to before `end`. Requires no windows.
  StmtRef each_number(Positions &points, ExprRef begin, ExprRef end, const Body &body);
  // Loop over the first points of the depth that this block's steps of turned data read.
  StmtRef each_point(const std::function<StmtRef(ExprRef point)> &body);
  // Sets `points` to step number `step`.
  void take_step(ExprRef step, Positions &points, Stmts &list);
  // The first of a row's pixels that the tap at `points` reads; null: always the first.
  ExprRef first_of_row(const Positions &points) const;
  // Loop over the windows of a tile.
  StmtRef each_window(Positions &points, const Body &body);
  // `body` at the window that this block takes `count` windows after the one of tile `tile` at
  // depth `depth`; nothing where there is none. Its tile is then the one last taken apart.
  StmtRef window_after(ExprRef tile, ExprRef depth, std::int64_t count,
                       const std::function<StmtRef(const Positions &)> &body);
  // Loop over the taps that one window serves.
  StmtRef each_tap(Positions &points, const Body &body);
  // The panel that starts at `column`, or the last where that is past the end.
  TurnedPanel panel(ExprRef column, Stmts &list) const;
  // First row and column of the tile last taken apart.
  ExprRef first_row() const { return first_row_; }
  ExprRef first_column() const { return first_column_; }
  // Whether the tile last taken apart is one of the grid, and no filler of the last cluster; null:
  // it always is.
  ExprRef exists() const { return exists_; }

private:
  std::int64_t depth_step() const;
  void place_rows(ExprRef number, Stmts &list);
  StmtRef over(std::span<const IndexId> indices, Positions &points, const Body &body);

  const schedule::ColumnPlan plan_;
  const WgmmaCluster &cluster_;
  const schedule::TileGrid grid_;
  const schedule::PixelBox box_;
  ExprRef first_row_{}, first_column_{}, exists_{};
};

} // namespace tilefuse::lower
