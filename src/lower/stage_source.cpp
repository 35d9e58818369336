// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include "lower/members.h"
#include "lower/stage_fill.h"

namespace tilefuse::lower {

using kernel::ExprRef;

StageSource::StageSource(const Context &context, int number)
    : cx(context), input(number), source(source_of(cx.whole, cx.schedule, input)),
      tile(stage_tile(cx.nest, cx.schedule, input)),
      to(cx.input_buffers[static_cast<std::size_t>(input)]), fill(schedule::neutral_fill(cx.nest)),
      type(schedule::held_type(cx.nest, input)) {
  find_origins(input);
  const std::optional<int> feeder = producer_of(cx.members.group, cx.member, input);
  if (feeder)
    stream_map(input, cx.members.contexts[static_cast<std::size_t>(*feeder) + 1]);
  else
    stream_in_place(input);
}

void StageSource::find_origins(int input) {
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
    } else if (!source.inside[i]) {
      first[i] = b.add(cx.start[i], cx.origin[i]);
      first[i] = per_step ? b.add(first[i], cx.inside[i]) : first[i];
      const bool moved = cx.nest.indices[i].extent != cx.whole.indices[i].extent;
      unit[i] = moved ? 1 : (per_step ? split.step() : split.tile);
    }
  }
  for (std::size_t d = 0; d < rank(); ++d) {
    nest::Linear at = dim(d).at;
    at.constant += tile.dims[d].lowest + tile.dims[d].before;
    origins.push_back(linear(cx, at, first));
    std::int64_t divisor = std::llabs(at.constant);
    for (std::size_t i = 0; i < at.coeff.size(); ++i)
      divisor = std::gcd(divisor, at.coeff[i] * unit[i]);
    multiples.push_back(divisor);
  }
}

void StageSource::stream_in_place(int input) {
  kernel::Builder &b = cx.build;
  StageStream stream{.from = cx.source_buffers[static_cast<std::size_t>(input)],
                     .base = b.integer(source.offset),
                     .offset = source.offset};
  for (std::size_t i = 0; i < cx.outputs(); ++i) {
    if (!source.inside[i])
      continue;
    const ExprRef step = b.add(b.add(cx.start[i], cx.origin[i]), cx.inside[i]);
    stream.base = b.add(stream.base, b.mul(step, b.integer(source.steps[i])));
  }
  for (std::size_t d = 0; d < rank(); ++d)
    stream.strides.push_back(dim(d).stride);
  streams.push_back(std::move(stream));
}

void StageSource::stream_map(int input, const Context &producer) {
  map = &producer;
  const nest::Nest &nest = producer.whole;
  const std::vector<int> indices =
      poly::match_dims(cx.whole.inputs[static_cast<std::size_t>(input)], nest).value();
  for (const nest::Operand &extra : nest.extras) {
    const nest::Linear form = nest::flat(extra, nest.indices.size());
    StageStream stream{.from = producer.slot_buffers[static_cast<std::size_t>(extra.slot)],
                       .base = cx.build.integer(form.constant),
                       .offset = form.constant};
    for (const schedule::StageDim &stage : tile.dims) {
      const int index = indices[static_cast<std::size_t>(stage.dim)];
      stream.strides.push_back(index < 0 ? 0 : form.coeff[static_cast<std::size_t>(index)]);
    }
    streams.push_back(std::move(stream));
  }
}

ExprRef StageSource::inside(std::size_t d, ExprRef subscript) const {
  kernel::Builder &b = cx.build;
  return b.logical_and(b.scalar(ScalarOp::Ge, {subscript, b.integer(0)}),
                       b.scalar(ScalarOp::Lt, {subscript, b.integer(dim(d).size)}));
}

} // namespace tilefuse::lower
