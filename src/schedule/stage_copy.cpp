// SPDX-License-Identifier: Apache-2.0
#include "schedule/stage_copy.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

constexpr std::int64_t kCopiedBytes = 4; // of an element that vectors copy

const nest::Dim &source_dim(const Source &source, const StageDim &dim) {
  return source.dims[at(dim.dim)];
}

// Points of an index between the tiles that begin at its multiples; 0: it moves no tile.
std::int64_t unit_of(const nest::Nest &nest, const nest::Nest &whole, const Schedule &schedule,
                     int input, IndexId index) {
  const Split &split = schedule.splits[index];
  if (!is_output(nest, index))
    return holds_chunk(nest, schedule, input, index) ? split.tile : 0;
  const bool is_moved = extent(nest, index) != extent(whole, index);
  const bool is_per_step = schedule.stages[at(input)].at.has_value();
  return is_moved ? 1 : (is_per_step ? split.step() : split.tile);
}

bool is_aligned(const CopyStream &stream, const CopyShape &shape, const Schedule &schedule,
                std::int64_t width) {
  if (stream.strides.back() == 0)
    return true;
  bool holds = stream.strides.back() == 1 && stream.offset % width == 0 &&
               size_bytes(stream.type) == kCopiedBytes;
  for (std::size_t d = 0; d + 1 < stream.strides.size(); ++d)
    holds = holds && stream.strides[d] % width == 0;
  for (const IndexId i : output_indices(shape.nest))
    if (shape.source.inside[i])
      holds = holds && shape.source.steps[i] * schedule.splits[i].step() % width == 0;
  return holds;
}

bool is_aligned(const CopyShape &shape, const Schedule &schedule,
                const std::vector<CopyStream> &streams, std::int64_t width) {
  const StageDim &inner = shape.tile.dims.back();
  return inner.range % width == 0 && shape.divisors.back() % width == 0 &&
         shape.owned % width == 0 &&
         (!inner.checked || source_dim(shape.source, inner).size % width == 0) &&
         std::all_of(streams.begin(), streams.end(), [&](const CopyStream &stream) {
           return is_aligned(stream, shape, schedule, width);
         });
}

} // namespace

CopyStream copy_stream(const nest::Nest &nest, const Schedule &schedule, const Source &source,
                       const StageTile &tile, int input) {
  const DType stored = type_of(nest, nest.inputs[at(input)]);
  const bool is_repacked = is_packed(schedule.fills[at(input)]);
  CopyStream stream{.type = is_repacked ? packed_type(nest, schedule, input) : stored,
                    .offset = source.offset,
                    .strides = {}};
  for (const StageDim &dim : tile.dims)
    stream.strides.push_back(source_dim(source, dim).stride);
  return stream;
}

std::vector<std::int64_t> origin_divisors(const nest::Nest &nest, const nest::Nest &whole,
                                          const Schedule &schedule, int input) {
  const Source source = source_of(whole, schedule, input);
  std::vector<std::int64_t> divisors;
  for (const StageDim &dim : stage_tile(nest, schedule, input).dims) {
    const nest::Linear &form = source_dim(source, dim).at;
    std::int64_t divisor = std::llabs(form.constant + dim.lowest + dim.before);
    for (const IndexId i : form.coeff.ids())
      if (!is_output(nest, i) || !source.inside[i])
        divisor = std::gcd(divisor, form.coeff[i] * unit_of(nest, whole, schedule, input, i));
    divisors.push_back(divisor);
  }
  return divisors;
}

int copy_width(const CopyShape &shape, const Schedule &schedule, int input,
               const std::vector<CopyStream> &streams) {
  if (shape.tile.dims.empty())
    return 1;
  const bool is_whole = schedule.stages[at(input)].ring > 0;
  for (const int width : {4, 2})
    if (is_aligned(shape, schedule, streams, width) &&
        (!is_whole || keeps_vectors(shape.tile, width)))
      return width;
  return 1;
}

int copy_width(const nest::Nest &nest, const Source &source, const StageTile &tile,
               const Schedule &schedule, int input) {
  const std::vector<std::int64_t> divisors = origin_divisors(nest, nest, schedule, input);
  return copy_width({.nest = nest, .source = source, .tile = tile, .divisors = divisors}, schedule,
                    input, {copy_stream(nest, schedule, source, tile, input)});
}

} // namespace tilefuse::schedule
