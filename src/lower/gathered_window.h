// SPDX-License-Identifier: Apache-2.0
// A window of data (schedule/wgmma.h) that a group of warps gathers: the runs of a work-item, which
// has the same run of every so many-th row. Rows are pixels of the window's box, the first
// dimension fastest; what lies outside the tensor is 0.
#pragma once

#include <vector>

#include "lower/context.h"
#include "lower/wgmma_producer.h"

namespace tilefuse::lower {

class GatheredWindow {
public:
  GatheredWindow(Context &context, const WgmmaParts &parts);

  using List = std::vector<kernel::StmtRef>;
  // Names where its runs lie in a window, and how far from the window's first.
  void declare(List &list);
  // Starts its copies of the window that begins at `points` by index, into buffer number `slot`.
  kernel::StmtRef start_at(const std::vector<kernel::ExprRef> &points, kernel::ExprRef slot) const;

private:
  struct Run {
    kernel::ExprRef row{};
    kernel::ExprRef to{};                // element of a buffer
    kernel::ExprRef from{};              // elements from the window's first
    std::vector<kernel::ExprRef> digits; // along the map's dimensions; null: the only one
  };
  kernel::ExprRef integer(std::int64_t value) const { return b_.integer(value); }
  bool leaves(std::size_t dim) const;
  Run run_of(kernel::ExprRef row, List &list) const;
  kernel::ExprRef place_in_window(kernel::ExprRef row) const;
  kernel::ExprRef valid(const Run &run, const std::vector<kernel::ExprRef> &first,
                        kernel::ExprRef depth) const;

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreRoles &roles_;
  const schedule::CoreTile &tile_;
  const WgmmaRing &ring_;
  const schedule::DataMap map_;
  const std::int64_t rows_;  // of a window
  const std::int64_t each_;  // elements of a run
  const std::int64_t apart_; // rows from one of its runs to the next
  kernel::ExprRef along_{};  // element of a row at which its runs begin
  std::vector<Run> runs_;
};

} // namespace tilefuse::lower
