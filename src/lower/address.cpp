// SPDX-License-Identifier: Apache-2.0
#include "lower/address.h"

#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::lower {
namespace {

using schedule::Source;

using Moves = Indexed<IndexId, std::int64_t>; // elements

// An address as elements per point of each part of an index's position.
struct Form {
  std::int64_t constant = 0;
  Moves origin; // output index: of the block's tile
  Moves inside; // output index: of the step in it
  Moves chunk;  // reduced index: of the chunk
  Moves near;   // of copies, lanes and points of a chunk
};

// Dimension d of the source moves the address by strides[d].
Moves moves(const Source &source, const std::vector<std::int64_t> &strides, std::size_t indices) {
  Moves sum(indices, 0);
  for (std::size_t d = 0; d < source.dims.size(); ++d)
    for (const IndexId i : sum.ids())
      sum[i] += source.dims[d].at.coeff[i] * strides[d];
  return sum;
}

Form memory_form(const Context &cx, const Source &source) {
  Form form{.constant = source.offset};
  std::vector<std::int64_t> strides;
  for (const nest::Dim &dim : source.dims) {
    strides.push_back(dim.stride);
    form.constant += dim.at.constant * dim.stride;
  }
  form.near = moves(source, strides, cx.nest.indices.size());
  form.origin = form.chunk = form.near;
  for (const IndexId i : output_indices(cx.nest))
    if (source.inside[i])
      form.origin[i] = source.steps[i];
  form.inside = form.origin;
  for (const IndexId i : reduced_indices(cx.nest))
    if (source.inside[i])
      form.near[i] = form.chunk[i] = source.steps[i];
  return form;
}

// A staged tile is addressed from its own first element.
Form staged_form(const Context &cx, int input, const Source &source) {
  Form form;
  std::vector<std::int64_t> strides(source.dims.size(), 0);
  for (const schedule::StageDim &stage : stage_tile(cx.nest, cx.schedule, input).dims) {
    strides[at(stage.dim)] = stage.stride;
    form.constant -= stage.lowest * stage.stride;
  }
  form.near = moves(source, strides, cx.nest.indices.size());
  form.origin.assign(form.near.size(), 0);
  form.inside = form.chunk = form.near;
  const bool per_step = cx.schedule.pipes[at(input)].at.has_value();
  for (const IndexId i : form.near.ids()) {
    if (per_step)
      form.inside[i] = 0;
    if (holds_chunk(cx.nest, cx.schedule, input, i))
      form.chunk[i] = 0;
  }
  return form;
}

Form form_of(const Context &cx, int input) {
  const Source source = source_of(cx.whole, cx.schedule, input);
  const bool staged = is_staged(cx.schedule.fills[at(input)]);
  return staged ? staged_form(cx, input, source) : memory_form(cx, source);
}

ExprRef plus(const Context &cx, ExprRef sum, ExprRef value, std::int64_t coeff) {
  return coeff == 0 ? sum : cx.build.add(sum, cx.build.mul(value, coeff));
}

} // namespace

ExprRef input_base(const Context &cx, int input) {
  const Form form = form_of(cx, input);
  ExprRef sum = cx.build.integer(form.constant);
  for (const IndexId i : output_indices(cx.nest)) {
    const bool from_tile = form.origin[i] != form.inside[i];
    const ExprRef first = cx.build.add(cx.start[i], cx.origin[i]);
    const ExprRef position = from_tile ? cx.inside[i] : cx.build.add(first, cx.inside[i]);
    sum = plus(cx, sum, position, form.inside[i]);
    sum = plus(cx, sum, cx.lane_at[i], form.near[i]);
  }
  return sum;
}

ExprRef chunk_base(const Context &cx, int input, ExprRef base) {
  const Form form = form_of(cx, input);
  for (const IndexId i : reduced_indices(cx.nest))
    base = plus(cx, base, cx.chunk[i], form.chunk[i]);
  if (!cx.schedule.pipes[at(input)].is_ahead())
    return base;
  const schedule::StageTile tile = stage_tile(cx.nest, cx.schedule, input);
  return plus(cx, base, cx.turn, buffer_stride(cx.schedule, input, tile));
}

Address input_address(const Context &cx, int input, ExprRef base) {
  const Form form = form_of(cx, input);
  ExprRef rest = cx.build.integer(0);
  for (const IndexId i : form.near.ids())
    rest = plus(cx, rest, is_output(cx.nest, i) ? cx.kept[i] : cx.value[i], form.near[i]);
  const std::optional<IndexId> vector = vector_index(cx.schedule);
  return {cx.build.add(base, rest), vector ? form.near[*vector] : 0};
}

std::int64_t input_stride(const Context &cx, int input, IndexId index) {
  return form_of(cx, input).near[index];
}

} // namespace tilefuse::lower
