// SPDX-License-Identifier: Apache-2.0
// Windows of data of a kernel with wgmma (schedule/wgmma/wgmma.h): where the pixels of an
// instruction begin in one for a tap.
#pragma once

#include <vector>

#include "base/index.h"
#include "lower/context.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::lower {

class WgmmaWindow {
public:
  explicit WgmmaWindow(Context &context)
      : cx_(context), b_(context.build), box_(pixel_box(cx_.gemm())),
        row_(data_map(cx_.gemm()).row), unit_(schedule::window_unit(cx_.schedule)),
        lines_(window_lines(cx_.gemm())) {}

  // Names where instructions begin that multiply `count` pixels from number `first` of the box on.
  void place(kernel::ExprRef first, std::int64_t count, std::vector<kernel::StmtRef> &list);
  // The row of a window at which the `number`-th of them begins, but for the tap.
  kernel::ExprRef row(std::int64_t number) const { return rows_[at(number)]; }
  // Rows that a tap is further, at the walked indices of `points`.
  kernel::ExprRef tap(const std::vector<kernel::ExprRef> &points) const;
  std::int64_t lines() const { return lines_; } // rows from 8 pixels to the next 8

private:
  Context &cx_;
  kernel::Builder &b_;
  const schedule::PixelBox box_;
  const nest::Linear row_;
  const std::int64_t unit_;
  const std::int64_t lines_;
  std::vector<kernel::ExprRef> rows_;
};

} // namespace tilefuse::lower
