// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include "lower/stage_fill.h"

namespace tilefuse::lower {

using kernel::ExprRef;

StageSource::StageSource(const Context &context, int input)
    : cx(context), source(source_of(cx.nest, cx.schedule, input)),
      tile(stage_tile(cx.nest, cx.schedule, input)),
      from(cx.source_buffers[static_cast<std::size_t>(input)]),
      to(cx.input_buffers[static_cast<std::size_t>(input)]), fill(schedule::neutral_fill(cx.nest)),
      type(schedule::held_type(cx.nest, input)), base(cx.build.integer(source.offset)) {
  kernel::Builder &b = cx.build;
  const bool per_step = cx.schedule.stages[static_cast<std::size_t>(input)].at >= 0;
  std::vector<ExprRef> first(cx.nest.indices.size(), b.integer(0));
  std::vector<std::int64_t> unit(first.size(), 0);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const schedule::Split &split = cx.schedule.splits[i];
    if (i >= cx.outputs()) {
      const bool chunk = holds_chunk(cx.nest, cx.schedule, input, static_cast<int>(i));
      first[i] = chunk ? cx.chunk[i] : first[i];
      unit[i] = chunk ? split.tile : 0;
    } else if (source.inside[i]) {
      const ExprRef step = b.add(cx.origin[i], cx.inside[i]);
      base = b.add(base, b.mul(step, b.integer(source.steps[i])));
    } else {
      first[i] = per_step ? b.add(cx.origin[i], cx.inside[i]) : cx.origin[i];
      unit[i] = per_step ? split.step() : split.tile;
    }
  }
  for (std::size_t d = 0; d < rank(); ++d) {
    nest::Linear at = dim(d).at;
    at.constant += tile.dims[d].lowest;
    origins.push_back(linear(cx, at, first));
    std::int64_t divisor = std::llabs(at.constant);
    for (std::size_t i = 0; i < at.coeff.size(); ++i)
      divisor = std::gcd(divisor, at.coeff[i] * unit[i]);
    multiples.push_back(divisor);
  }
}

ExprRef StageSource::inside(std::size_t d, ExprRef subscript) const {
  kernel::Builder &b = cx.build;
  return b.logical_and(b.scalar(ScalarOp::Ge, {subscript, b.integer(0)}),
                       b.scalar(ScalarOp::Lt, {subscript, b.integer(dim(d).size)}));
}

ExprRef StageSource::load(ExprRef index, int lanes, ExprRef valid) const {
  const ExprRef raw = cx.build.load(from, index, lanes, 1, valid, fill);
  const ExprRef exists =
      valid ? cx.build.scalar(ScalarOp::Gt, {valid, cx.build.integer(0)}) : nullptr;
  return filled(cx, from, cx.build.cast(raw, type), exists);
}

} // namespace tilefuse::lower
