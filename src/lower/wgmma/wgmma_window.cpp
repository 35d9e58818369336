// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_window.h"

#include "base/index.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;

void WgmmaWindow::place(ExprRef first, std::int64_t count, std::vector<StmtRef> &list) {
  for (std::int64_t pixel = 0; pixel < count; pixel += unit_) {
    ExprRef rest = b_.add(first, b_.integer(pixel));
    ExprRef row = b_.integer(0);
    for (std::size_t i = box_.indices.size(); i-- > 0;) {
      const ExprRef size = b_.integer(box_.sizes[i]);
      const ExprRef digit = i == 0 ? rest : b_.mod(rest, size);
      row = b_.add(row, b_.mul(digit, b_.integer(row_.coeff[at(box_.indices[i])])));
      rest = b_.div(rest, size);
    }
    rows_.push_back(named(b_, list, "window_row", row));
  }
}

ExprRef WgmmaWindow::tap(const std::vector<ExprRef> &points) const {
  return linear(cx_, row_, points);
}

} // namespace tilefuse::lower
