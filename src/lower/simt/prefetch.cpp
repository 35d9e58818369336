// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/prefetch.h"

#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::lower {
namespace {

// Number of the current step over the output indices other than the lanes'.
ExprRef step_number(const Context &cx, IndexId lane) {
  ExprRef number = cx.build.integer(0);
  for (const IndexId i : cx.schedule.order) {
    if (!is_output(cx.nest, i) || i == lane)
      continue;
    const std::int64_t step = cx.schedule.splits[i].step();
    const ExprRef here = cx.build.div(cx.inside[i], step);
    const ExprRef steps = cx.build.integer(cx.schedule.splits[i].tile / step);
    number = cx.build.add(cx.build.mul(number, steps), here);
  }
  return number;
}

} // namespace

StmtRef prefetch_next_step(const Context &cx, int input, ExprRef base) {
  kernel::Builder &b = cx.build;
  const schedule::Source source = schedule::source_of(cx.whole, cx.schedule, input);
  const IndexId lane = schedule::lane_index(cx.schedule).value();
  const schedule::Split &split = cx.schedule.splits[lane];
  const std::int64_t step = source.steps[lane] * split.step();
  const ExprRef part = b.min(step_number(cx, lane), split.keep - 1);
  ExprRef at = b.add(b.add(base, step), b.mul(part, step / split.keep));
  for (const nest::Dim &dim : source.dims)
    for (const IndexId i : reduced_indices(cx.nest))
      if (dim.at.coeff[i] != 0) {
        const std::int64_t apart =
            source.inside[i] ? source.steps[i] : dim.stride * dim.at.coeff[i];
        at = b.add(at, b.mul(cx.value[i], apart / split.keep));
      }
  return b.prefetch(cx.source_buffers[static_cast<std::size_t>(input)], at);
}

} // namespace tilefuse::lower
