// SPDX-License-Identifier: Apache-2.0
#include "schedule/stage_copy.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/ownership.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kCopiedBytes = 4; // of an element that vectors copy

// The tile of a staged input, and where it lies in memory. `nest` may be a tile of `whole`.
struct Staged {
  const nest::Dim &dim(const StageDim &of) const { return source.dims[at(of.dim)]; }

  const Nest &nest;
  const Nest &whole;
  const Schedule &own;
  int input;
  const Source &source;
  const StageTile &tile;
};

// The input as it lies in memory or packed, as the stream of its own tile.
CopyStream copy_stream(const Staged &staged) {
  const DType stored = type_of(staged.nest, staged.nest.inputs[at(staged.input)]);
  const bool is_repacked = is_packed(staged.own.fills[at(staged.input)]);
  CopyStream stream{.type =
                        is_repacked ? packed_type(staged.nest, staged.own, staged.input) : stored,
                    .offset = staged.source.offset,
                    .strides = {}};
  for (const StageDim &dim : staged.tile.dims)
    stream.strides.push_back(staged.dim(dim).stride);
  return stream;
}

// Points of an index between the tiles that begin at its multiples; 0: it moves no tile.
std::int64_t unit_of(const Staged &staged, IndexId index) {
  const Nest &nest = staged.nest;
  const Split &split = staged.own.splits[index];
  if (!is_output(nest, index))
    return holds_chunk(nest, staged.own, staged.input, index) ? split.tile : 0;
  const bool is_moved = extent(nest, index) != extent(staged.whole, index);
  const bool is_per_step = staged.own.pipes[at(staged.input)].at.has_value();
  return is_moved ? 1 : (is_per_step ? split.step() : split.tile);
}

// A number that divides the first subscript of every tile along a dimension; 0 where that is always
// 0.
std::int64_t origin_divisor(const Staged &staged, const StageDim &dim) {
  const nest::Linear &form = staged.dim(dim).at;
  std::int64_t divisor = std::llabs(form.constant + dim.lowest + dim.before);
  for (const IndexId i : form.coeff.ids())
    if (!is_output(staged.nest, i) || !staged.source.inside[i])
      divisor = std::gcd(divisor, form.coeff[i] * unit_of(staged, i));
  return divisor;
}

bool is_aligned(const CopyStream &stream, const Staged &staged, std::int64_t width) {
  if (stream.strides.back() == 0)
    return true;
  bool holds = stream.strides.back() == 1 && stream.offset % width == 0 &&
               size_bytes(stream.type) == kCopiedBytes;
  for (std::size_t d = 0; d + 1 < stream.strides.size(); ++d)
    holds = holds && stream.strides[d] % width == 0;
  for (const IndexId i : output_indices(staged.nest))
    if (staged.source.inside[i])
      holds = holds && staged.source.steps[i] * staged.own.splits[i].step() % width == 0;
  return holds;
}

// `owned`: elements of a row that the fill also writes to memory; 0: it writes none.
bool is_aligned(const Staged &staged, const std::vector<CopyStream> &streams, std::int64_t owned,
                std::int64_t width) {
  const StageDim &inner = staged.tile.dims.back();
  return inner.range % width == 0 && origin_divisor(staged, inner) % width == 0 &&
         owned % width == 0 && (!inner.checked || staged.dim(inner).size % width == 0) &&
         std::all_of(streams.begin(), streams.end(),
                     [&](const CopyStream &stream) { return is_aligned(stream, staged, width); });
}

// Elements of one access to all streams.
int widest(const Staged &staged, const std::vector<CopyStream> &streams, std::int64_t owned) {
  const bool is_whole = staged.own.pipes[at(staged.input)].is_async();
  for (const int width : {4, 2})
    if (is_aligned(staged, streams, owned, width) &&
        (!is_whole || keeps_vectors(staged.tile, width)))
      return width;
  return 1;
}

// `stored`: what of the tile is written to memory too, as the last of the streams.
ItemCopy item_copy(const Staged &staged, const std::vector<CopyStream> &streams,
                   const std::optional<Ownership> &stored) {
  ItemCopy copy{.round_offsets = static_cast<std::int64_t>(streams.size()) + 1};
  if (!staged.tile.dims.empty())
    copy.widest = widest(staged, streams, stored ? stored->parts.back().owned : 0);
  for (const StageDim &dim : staged.tile.dims) {
    copy.elems *= dim.range;
    copy.round_offsets += dim.checked || stored ? 1 : 0;
  }
  return copy;
}

// `copy_of(input)`: how that input of the schedule's nest can be copied.
template <typename CopyOf> Reason wrong_input_copies(const Schedule &own, const CopyOf &copy_of) {
  for (std::size_t k = 0; k < own.pipes.size(); ++k) {
    const Pipe &stage = own.pipes[k];
    if (stage.copies_plainly())
      continue;
    const ItemCopy copy = copy_of(static_cast<int>(k));
    if (stage.width > copy.widest || (stage.width & (stage.width - 1)) != 0)
      return fmt::format("input {} is copied by {} elements; its tile and its memory allow {}", k,
                         stage.width, copy.widest);
    const std::int64_t rounds = copy.rounds(stage.width, group_size(own));
    if (stage.rounds != Rounds::Loop && rounds > kMostWrittenRounds)
      return fmt::format("the copy of input {} is written out in {} rounds; at most {}", k, rounds,
                         kMostWrittenRounds);
  }
  return {};
}

} // namespace

CopyStream map_stream(const Nest &map, const nest::Operand &operand, const StageTile &tile,
                      const std::vector<std::optional<nest::IndexId>> &indices) {
  const nest::Linear form = nest::flat(operand, map.indices.size());
  CopyStream stream{.type = map.slots[operand.slot].type, .offset = form.constant, .strides = {}};
  for (const StageDim &dim : tile.dims) {
    const std::optional<nest::IndexId> index = indices[at(dim.dim)];
    stream.strides.push_back(index ? form.coeff[*index] : 0);
  }
  return stream;
}

ItemCopy item_copy(const Nest &nest, const Schedule &schedule, int input) {
  InputPlace place{source_of(nest, schedule, input), {}};
  place.tile = stage_tile(nest, schedule, input, place.source);
  return item_copy(nest, schedule, input, place);
}

ItemCopy item_copy(const Nest &nest, const Schedule &schedule, int input, const InputPlace &place) {
  const Staged staged{nest, nest, schedule, input, place.source, place.tile};
  return item_copy(staged, {copy_stream(staged)}, std::nullopt);
}

ItemCopy item_copy(const poly::Group &group, const std::vector<Nest> &nests,
                   const Schedule &schedule, poly::MemberId member, int input) {
  const Nest &whole = member_nest(group, member);
  const Schedule &own = member_schedule(schedule, member);
  const InputPlace place{source_of(whole, own, input), stage_tile(nests[at(member)], own, input)};
  const Staged staged{nests[at(member)], whole, own, input, place.source, place.tile};
  const std::optional<poly::MemberId> map = producer_of(group, member, input);
  if (!map)
    return item_copy(staged, {copy_stream(staged)}, std::nullopt);
  const poly::Producer &producer = producer_at(group, *map);
  const auto indices = poly::match_dims(whole.inputs[at(input)], producer.nest).value();
  std::vector<CopyStream> streams;
  for (const nest::Operand &extra : producer.nest.extras)
    streams.push_back(map_stream(producer.nest, extra, staged.tile, indices));
  if (!producer.stored)
    return item_copy(staged, streams, std::nullopt);
  streams.push_back(map_stream(producer.nest, producer.nest.out, staged.tile, indices));
  return item_copy(staged, streams, ownership(staged.nest, staged.own, input));
}

Reason wrong_copies(const Nest &nest, const Schedule &schedule) {
  return wrong_input_copies(schedule, [&](int input) { return item_copy(nest, schedule, input); });
}

Reason wrong_copies(const poly::Group &group, const std::vector<Nest> &nests,
                    const Schedule &schedule, poly::MemberId member) {
  return wrong_input_copies(member_schedule(schedule, member), [&](int input) {
    return item_copy(group, nests, schedule, member, input);
  });
}

} // namespace tilefuse::schedule
