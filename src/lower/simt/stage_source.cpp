// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/stage_source.h"

#include <utility>

#include "base/index.h"
#include "lower/members.h"
#include "nest/index.h"
#include "schedule/stage_copy.h"

namespace tilefuse::lower {

StageSource::StageSource(const Context &context, int number)
    : cx(context), input(number), source(source_of(cx.whole, cx.schedule, input)),
      tile(stage_tile(cx.nest, cx.schedule, input)), to(cx.input_buffers[at(input)]),
      fill(schedule::neutral_fill(cx.nest)),
      type(schedule::held_type(cx.nest, cx.schedule, input)) {
  find_origins(input);
  const std::optional<poly::MemberId> feeder = producer_of(cx.members.group, cx.member, input);
  if (feeder)
    stream_map(input, cx.members.contexts[*feeder]);
  else
    stream_in_place(input);
}

void StageSource::find_origins(int input) {
  kernel::Builder &b = cx.build;
  const bool per_step = cx.schedule.pipes[at(input)].at.has_value();
  first.assign(cx.nest.indices.size(), b.integer(0));
  for (const IndexId i : first.ids()) {
    if (!is_output(cx.nest, i)) {
      const bool chunk = holds_chunk(cx.nest, cx.schedule, input, i);
      first[i] = chunk ? cx.chunk[i] : first[i];
    } else if (!source.inside[i]) {
      first[i] = b.add(cx.start[i], cx.origin[i]);
      first[i] = per_step ? b.add(first[i], cx.inside[i]) : first[i];
    }
  }
  for (std::size_t d = 0; d < rank(); ++d) {
    nest::Linear at = dim(d).at;
    at.constant += tile.dims[d].lowest + tile.dims[d].before;
    origins.push_back(linear(cx, at, first));
  }
}

void StageSource::stream_in_place(int input) {
  kernel::Builder &b = cx.build;
  StageStream stream{.from = cx.source_buffers[at(input)], .base = b.integer(source.offset)};
  for (const IndexId i : output_indices(cx.nest)) {
    if (!source.inside[i])
      continue;
    const ExprRef step = b.add(b.add(cx.start[i], cx.origin[i]), cx.inside[i]);
    stream.base = b.add(stream.base, b.mul(step, source.steps[i]));
  }
  for (std::size_t d = 0; d < rank(); ++d)
    stream.strides.push_back(dim(d).stride);
  streams.push_back(std::move(stream));
}

void StageSource::stream_map(int input, const Context &producer) {
  map = &producer;
  const nest::Nest &nest = producer.whole;
  const auto indices = poly::match_dims(cx.whole.inputs[at(input)], nest).value();
  for (const nest::Operand &extra : nest.extras)
    streams.push_back(stream_of(extra, indices));
  const poly::Group &group = cx.members.group;
  if (!producer_at(group, producer.member).stored)
    return;
  stored = ownership(cx.nest, cx.schedule, input).value();
  streams.push_back(stream_of(nest.out, indices));
}

// Of an operand of the map; `indices`: its index by dimension of the tensor.
StageStream StageSource::stream_of(const nest::Operand &operand,
                                   const std::vector<std::optional<nest::IndexId>> &indices) const {
  schedule::CopyStream stream = map_stream(map->whole, operand, tile, indices);
  return {.from = map->slot_buffers[operand.slot],
          .base = cx.build.integer(stream.offset),
          .strides = std::move(stream.strides)};
}

ExprRef StageSource::owns_any() const {
  kernel::Builder &b = cx.build;
  ExprRef all = nullptr;
  for (const IndexId i : stored->repeats)
    all = b.logical_and(all, b.equal(first[i], 0));
  return all;
}

ExprRef StageSource::owns(std::size_t d, ExprRef step) const {
  kernel::Builder &b = cx.build;
  const schedule::Ownership::Part &part = stored->parts[d];
  if (!part.index || part.owned >= tile.dims[d].range)
    return nullptr;
  const ExprRef is_last = b.scalar(ScalarOp::Ge, {first[*part.index], b.integer(part.last)});
  return b.scalar(ScalarOp::Or, {is_last, b.less(step, part.owned)});
}

ExprRef StageSource::to_stored(ExprRef value) const {
  return cx.build.cast(value, cx.build.kernel()[streams.back().from].type.elem);
}

ExprRef StageSource::inside(std::size_t d, ExprRef subscript) const {
  kernel::Builder &b = cx.build;
  return b.logical_and(b.scalar(ScalarOp::Ge, {subscript, b.integer(0)}),
                       b.less(subscript, dim(d).size));
}

} // namespace tilefuse::lower
