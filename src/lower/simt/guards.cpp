// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/guards.h"

#include "base/index.h"
#include "schedule/guards.h"

namespace tilefuse::lower {
namespace {

using kernel::Builder;
using schedule::Guard;

// The largest k with k * by <= value, plus one; 0 where there is none.
ExprRef count_up_to(Builder &b, ExprRef value, std::int64_t by) {
  const ExprRef raised = b.add(value, by);
  return by == 1 ? raised : b.div(b.max(raised, 0), by);
}

// The smallest k >= 0 with k * by >= value.
ExprRef first_from(Builder &b, ExprRef value, std::int64_t by) {
  const ExprRef least = b.max(value, 0);
  return b.div(b.add(least, by - 1), by);
}

// What of [begin, end) keeps rest + coeff * k within [0, size).
TapRange clipped(const Context &cx, const nest::Dim &dim, IndexId index, TapRange taps) {
  Builder &b = cx.build;
  nest::Linear others = dim.at;
  const std::int64_t coeff = others.coeff[index];
  others.coeff[index] = 0;
  const ExprRef rest = linear(cx, others, points(cx));
  const ExprRef below = b.sub(0, rest);
  const ExprRef above = b.sub(dim.size - 1, rest);
  const std::int64_t by = coeff > 0 ? coeff : -coeff;
  const ExprRef first = coeff > 0 ? below : b.sub(0, above);
  const ExprRef last = coeff > 0 ? above : rest;
  return {b.max(taps.begin, first_from(b, first, by)), b.min(taps.end, count_up_to(b, last, by))};
}

} // namespace

ExprRef inside(const Context &cx, const nest::Linear &at, std::int64_t bound) {
  const ExprRef value = linear(cx, at, points(cx));
  return cx.build.logical_and(cx.build.scalar(ScalarOp::Ge, {value, cx.build.integer(0)}),
                              cx.build.less(value, bound));
}

ExprRef checked_inside(const Context &cx, std::size_t input) {
  ExprRef all = nullptr;
  for (const nest::Dim &dim : cx.nest.inputs[input].dims)
    if (!dim.by && guard_of(cx.nest, cx.schedule, input, dim) == Guard::Checked)
      all = cx.build.logical_and(all, inside(cx, dim.at, dim.size));
  return all;
}

ExprRef edge_inside(const Context &cx, std::size_t input) {
  ExprRef all = nullptr;
  for (const nest::Dim &dim : cx.nest.inputs[input].dims) {
    const std::optional<IndexId> index = edge_of(cx.nest, cx.schedule, input, dim);
    if (index && cx.first[*index])
      all = cx.build.logical_and(all, inside(cx, dim.at, dim.size));
  }
  return all;
}

TapRange clipped_taps(const Context &cx, IndexId index) {
  TapRange taps{cx.build.integer(0), cx.build.integer(cx.schedule.splits[index].tile)};
  if (!cx.schedule.splits[index].clip)
    return taps;
  for (const nest::Operand &input : cx.nest.inputs)
    for (const nest::Dim &dim : input.dims)
      if (is_clipped_by(cx.nest, cx.schedule, dim, index))
        taps = clipped(cx, dim, index, taps);
  return taps;
}

} // namespace tilefuse::lower
