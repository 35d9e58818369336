// SPDX-License-Identifier: Apache-2.0
// Dot products of rows: a matrix unit's registers in place of vectors of sums.
#include <algorithm>

#include "lower/address.h"
#include "lower/simt/tile_builder.h"
#include "nest/index.h"

namespace tilefuse::lower {

StmtRef TileBuilder::zero_rows() {
  const std::vector<IndexId> all = all_copied();
  return for_copies(all, [&] {
    return b_.rows_zero({{cx_.rows.sums[of_last_], copy_number(all)}});
  });
}

// The filter's registers stay, those of the data come one by one.
StmtRef TileBuilder::accumulate_rows() {
  const BufferId data = cx_.rows.data[of_last_];
  const BufferId filter = cx_.rows.filter;
  const std::vector<IndexId> all = all_copied();
  const std::vector<IndexId> of_data = copied_by(rows_->data);
  const std::vector<IndexId> of_filter = copied_by(rows_->filter);
  std::vector<IndexId> others;
  for (const IndexId i : all)
    if (std::find(of_data.begin(), of_data.end(), i) == of_data.end())
      others.push_back(i);
  const auto load = [&](BufferId to, ExprRef number, int input, std::int64_t apart) {
    const ExprRef at = input_address(cx_, input, bases_[static_cast<std::size_t>(input)]).index;
    return b_.rows_load(
        {{to, number}, cx_.input_buffers[static_cast<std::size_t>(input)], at, apart});
  };
  const std::int64_t groups_apart =
      input_stride(cx_, rows_->filter, rows_->depth) * cx_.schedule.dot->products;
  const std::int64_t points_apart = input_stride(cx_, rows_->data, rows_->index);
  const StmtRef filters = for_copies(
      of_filter, [&] { return load(filter, copy_number(of_filter), rows_->filter, groups_apart); });
  const StmtRef sums = for_copies(of_data, [&] {
    const StmtRef first = load(data, b_.integer(0), rows_->data, points_apart);
    const StmtRef dots = for_copies(others, [&] {
      return b_.rows_dot({cx_.schedule.dot,
                          {cx_.rows.sums[of_last_], copy_number(all)},
                          {data, b_.integer(0)},
                          {filter, copy_number(of_filter)}});
    });
    return b_.block({first, dots});
  });
  return b_.block({filters, sums});
}

StmtRef TileBuilder::put_rows() {
  const std::vector<IndexId> all = all_copied();
  row_ = b_.integer(0);
  return for_copies(all, [&] {
    tile_ = copy_number(all);
    return b_.rows_store(
        {cx_.rows.memory, acc_position(), cx_.width(), {cx_.rows.sums[of_last_], tile_}});
  });
}

StmtRef TileBuilder::for_rows(const LoopBody &body) {
  if (!rows_)
    return body();
  const std::int64_t points = of_last_ == 1 ? rows_->last : rows_->rows;
  const ExprRef first = cx_.kept[rows_->index];
  const kernel::VarId var = b_.variable("row", {});
  tile_ = copy_number(all_copied());
  row_ = b_.var(var);
  cx_.kept[rows_->index] = b_.add(first, row_);
  const StmtRef loop = b_.loop(var, kernel::ForKind::Serial, 0, points, 1, body());
  cx_.kept[rows_->index] = first;
  return loop;
}

} // namespace tilefuse::lower
