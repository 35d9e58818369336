// SPDX-License-Identifier: Apache-2.0
// A window of data that a group of warps fills from what a copy reads
// (schedule/wgmma/wgmma_spread.h): the units of a work-item, which has every so many-th of the
// window's. It reads their elements into registers, and writes each unit to every row that holds
// it.
#pragma once

#include <map>
#include <vector>

#include "lower/context.h"
#include "lower/wgmma/wgmma_parts.h"
#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_spread.h"

namespace tilefuse::lower {

class SpreadWindow {
public:
  SpreadWindow(Context &context, const WgmmaParts &parts, poly::MemberId producer);

  using List = std::vector<kernel::StmtRef>;
  // Names where its units lie in a window, and in the lines of the copy.
  void declare(List &list);
  // Reads its units of the window that begins at `points` by index.
  void read(const std::vector<kernel::ExprRef> &points, List &list) const;
  // What was read last, as the window holds it: each unit's chunks of 16 bytes.
  std::vector<kernel::ExprRef> converted(List &list) const;
  // Writes these into buffer number `slot`.
  void write(const std::vector<kernel::ExprRef> &chunks, kernel::ExprRef slot, List &list) const;

private:
  // The value of one of the copy's indices is that of the window's first unit, that of a unit from
  // there, and that of an element of the unit.
  struct Unit {
    std::vector<kernel::ExprRef> at; // by the copy's index
    std::vector<kernel::ExprRef> to; // by row, and 16 bytes of the unit: chunk of a buffer, or -1
  };
  using Values = std::vector<kernel::ExprRef>;
  kernel::ExprRef integer(std::int64_t value) const { return b_.integer(value); }
  kernel::ExprRef below(kernel::ExprRef value, std::int64_t end) const {
    return b_.scalar(ScalarOp::Lt, {value, integer(end)});
  }
  int index_of(std::size_t dim) const;
  std::int64_t runs_stride() const;
  Unit unit_of(std::int64_t round, List &list) const;
  void place_rows(kernel::ExprRef line, kernel::ExprRef unit, Unit &placed, List &list) const;
  Values first_values(const std::vector<kernel::ExprRef> &points, List &list) const;
  std::int64_t inside_unit(std::size_t dim, std::int64_t element) const;
  kernel::ExprRef valid(const Values &values) const;
  kernel::ExprRef element(const Values &values) const;

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreTile &tile_;
  const WgmmaRing &ring_;
  const Context &from_; // the copy's
  const nest::Nest &copy_;
  const schedule::SpreadPlan plan_;
  const schedule::DataMap map_;
  const nest::Operand &data_;   // of the anchor
  const std::vector<int> dims_; // of the data, by the copy's
  kernel::BufferId values_{-1}; // registers
  std::vector<Unit> units_;
};

} // namespace tilefuse::lower
