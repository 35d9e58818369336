// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_cluster.h"

namespace tilefuse::lower {

using kernel::ExprRef;

namespace {

// `mask` shifted left by `apart` bits for each of `number`, which is 0 or 1.
ExprRef shifted(kernel::Builder &b, std::int64_t mask, std::int64_t apart, ExprRef number) {
  const std::int64_t more = (mask << apart) - mask;
  return b.add(b.mul(number, more), mask);
}

} // namespace

ExprRef WgmmaCluster::share_data() const {
  const std::int64_t all = (std::int64_t{1} << columns_) - 1;
  return columns_ == 1 ? nullptr : shifted(b_, all, columns_, row());
}

ExprRef WgmmaCluster::share_filter() const {
  std::int64_t all = 0;
  for (std::int64_t row = 0; row < rows_; ++row)
    all |= std::int64_t{1} << row * columns_;
  return rows_ == 1 ? nullptr : shifted(b_, all, 1, column());
}

ExprRef WgmmaCluster::first_step(std::int64_t steps) const {
  return b_.div(b_.mul(part(), steps), parts_);
}

ExprRef WgmmaCluster::end_step(std::int64_t steps) const {
  const ExprRef next = b_.add(part(), 1);
  return b_.div(b_.mul(next, steps), parts_);
}

ExprRef WgmmaCluster::step_count(std::int64_t steps) const {
  return steps % parts_ == 0 ? b_.integer(steps / parts_)
                             : b_.sub(end_step(steps), first_step(steps));
}

// First this one and those of its column, then the others of its row, from the next on.
ExprRef WgmmaCluster::source(ExprRef number) const {
  const ExprRef down = b_.mod(b_.add(row(), number), rows_);
  const ExprRef in_column = b_.add(b_.mul(down, columns_), column());
  if (columns_ == 1)
    return in_column;
  const ExprRef after = b_.add(b_.sub(number, rows_ - 1), column());
  const ExprRef in_row = b_.add(b_.mul(row(), columns_), b_.mod(after, columns_));
  return b_.select(b_.less(number, rows_), in_column, in_row);
}

} // namespace tilefuse::lower
