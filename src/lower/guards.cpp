// SPDX-License-Identifier: Apache-2.0
#include "lower/guards.h"

#include "schedule/guards.h"

namespace tilefuse::lower {
namespace {

using kernel::Builder;
using kernel::ExprRef;
using schedule::Guard;

// What of [begin, end) keeps rest + k, or rest - k, within [0, size).
TapRange clipped(const Context &cx, const nest::Dim &dim, std::size_t index, TapRange taps) {
  Builder &b = cx.build;
  nest::Linear others = dim.at;
  const std::int64_t coeff = others.coeff[index];
  others.coeff[index] = 0;
  const ExprRef rest = linear(cx, others, points(cx));
  const ExprRef below = b.sub(b.integer(0), rest);
  const ExprRef above = b.sub(b.integer(dim.size), rest);
  const ExprRef one = b.integer(1);
  const ExprRef begin = coeff > 0 ? below : b.sub(one, above);
  const ExprRef end = coeff > 0 ? above : b.add(rest, one);
  return {b.max(taps.begin, begin), b.min(taps.end, end)};
}

} // namespace

ExprRef inside(const Context &cx, const nest::Linear &at, std::int64_t bound) {
  const ExprRef value = linear(cx, at, points(cx));
  return cx.build.logical_and(cx.build.scalar(ScalarOp::Ge, {value, cx.build.integer(0)}),
                              cx.build.scalar(ScalarOp::Lt, {value, cx.build.integer(bound)}));
}

ExprRef checked_inside(const Context &cx, std::size_t input) {
  ExprRef all = nullptr;
  for (const nest::Dim &dim : cx.nest.inputs[input].dims)
    if (guard_of(cx.nest, cx.schedule, input, dim) == Guard::Checked)
      all = cx.build.logical_and(all, inside(cx, dim.at, dim.size));
  return all;
}

ExprRef edge_inside(const Context &cx, std::size_t input) {
  ExprRef all = nullptr;
  for (const nest::Dim &dim : cx.nest.inputs[input].dims) {
    const int index = edge_of(cx.nest, cx.schedule, input, dim);
    if (index >= 0 && cx.first[static_cast<std::size_t>(index)])
      all = cx.build.logical_and(all, inside(cx, dim.at, dim.size));
  }
  return all;
}

TapRange clipped_taps(const Context &cx, std::size_t index) {
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
