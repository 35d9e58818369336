// SPDX-License-Identifier: Apache-2.0
#include "schedule/legal_alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "schedule/dots.h"
#include "schedule/guards.h"
#include "schedule/lane_reduction.h"
#include "schedule/legal_dots.h"
#include "schedule/mma/core_legal.h"
#include "schedule/result_tile.h"
#include "schedule/rolling.h"
#include "schedule/staging.h"
#include "schedule/streams.h"
#include "schedule/text.h"
#include "target/features.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

// Products of these do not overflow.
constexpr std::int64_t kLargestFactor = 1 << 16;
constexpr std::int64_t kLargestTile = std::int64_t{1} << 48;

// Elements that a work-item fetches ahead at most, and buffers of a ring.
constexpr std::int64_t kMostAhead = 64;
constexpr int kMostStages = 8;

Reason wrong_order(const Nest &nest, const Schedule &schedule) {
  std::vector<bool> seen(nest.indices.size(), false);
  bool reduced = false;
  for (const IndexId i : schedule.order) {
    if (at(i) >= nest.indices.size() || seen[at(i)])
      return "its loop order is not a permutation of the indices";
    if (is_output(nest, i) && reduced)
      return "an output index is looped inside a reduced one";
    seen[at(i)] = true;
    reduced = reduced || !is_output(nest, i);
  }
  if (schedule.order.size() != nest.indices.size())
    return "its loop order misses an index";
  return {};
}

Reason wrong_shape(const Nest &nest, const Schedule &schedule) {
  if (schedule.splits.size() != nest.indices.size())
    return fmt::format("it splits {} indices, the nest has {}", schedule.splits.size(),
                       nest.indices.size());
  if (schedule.fills.size() != nest.inputs.size() || schedule.pipes.size() != nest.inputs.size())
    return fmt::format("it places {} inputs, the nest has {}",
                       std::min(schedule.fills.size(), schedule.pipes.size()), nest.inputs.size());
  return wrong_order(nest, schedule);
}

// Every subscript past the index's extent lies outside the tensor.
bool leaves_tensor(const Nest &nest, const nest::Dim &dim, IndexId index) {
  for (const IndexId i : dim.at.coeff.ids())
    if (i != index && dim.at.coeff[i] != 0)
      return false;
  return dim.at.coeff[index] > 0 &&
         dim.at.constant + dim.at.coeff[index] * extent(nest, index) >= dim.size;
}

// Points past an index's extent are computed on the padding of staged inputs, and in groups of a
// dot product of packed ones, which must then contribute nothing.
bool is_padded(const Nest &nest, const Schedule &schedule, IndexId index) {
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    const std::vector<nest::Dim> &dims = nest.inputs[k].dims;
    const bool is_tensor = !is_packed(schedule.fills[k]);
    const bool ends =
        is_tensor
            ? std::any_of(dims.begin(), dims.end(),
                          [&](const nest::Dim &dim) { return leaves_tensor(nest, dim, index); })
            : moves(nest.inputs[k], index);
    const bool has_groups = !is_tensor && schedule.splits[index].vec > 1 && schedule.dot != nullptr;
    if ((!is_staged(schedule.fills[k]) && !has_groups) || !ends)
      return false;
  }
  return has_neutral_fill(nest);
}

Reason wrong_reduced(const Nest &nest, const Schedule &schedule, IndexId i) {
  const Split &split = schedule.splits[i];
  const std::string &name = nest.indices[i].name;
  const std::int64_t extent = nest::extent(nest, i);
  if (split.tile >= extent + split.vec)
    return fmt::format("a chunk of {} is larger than its extent {}", name, extent);
  if (split.step() > split.tile)
    return fmt::format("{} is unrolled past its chunk", name);
  if (extent % split.tile != 0 && !is_padded(nest, schedule, i))
    return fmt::format("chunk {} of {} does not divide its extent {}, and not every input is "
                       "staged with padding",
                       split.tile, name, extent);
  return {};
}

Reason wrong_split(const Nest &nest, const Schedule &schedule, IndexId i) {
  const Split &split = schedule.splits[i];
  const std::string &name = nest.indices[i].name;
  const std::int64_t extent = nest::extent(nest, i);
  const auto [least, most] = std::minmax({split.tile, split.keep, split.lane, split.vec});
  if (least < 1 || std::max({split.keep, split.lane, split.vec}) > kLargestFactor ||
      most > kLargestTile)
    return fmt::format("a factor of {} is below 1 or absurdly large", name);
  const bool can_be_near = split.keep > 1 && split.lane > 1 && schedule.lanes == LaneKind::WorkItem;
  const bool is_reduced = !is_output(nest, i);
  if (split.near && (is_reduced || !can_be_near))
    return fmt::format("{} has no copies that work-items stand between", name);
  if (split.roll < 0 || (split.roll > 0 && is_reduced) ||
      (split.roll > 1 && split.roll > (extent + split.tile - 1) / split.tile))
    return fmt::format("{} rolls through {} tiles", name, split.roll);
  if (is_reduced)
    return wrong_reduced(nest, schedule, i);
  if (split.tile % split.step() != 0)
    return fmt::format("tile {} of {} is not a multiple of keep * lane * vec = {}", split.tile,
                       name, split.step());
  if (split.tile >= extent + split.step())
    return fmt::format("tile {} of {} is larger than its extent {} needs", split.tile, name,
                       extent);
  return {};
}

// The digits of a work-item's number must multiply to the lanes of each index.
Reason wrong_parts(const Schedule &schedule) {
  int lanes = 0;
  Indexed<IndexId, std::int64_t> product(schedule.splits.size(), 1);
  for (const Split &split : schedule.splits)
    lanes += split.lane > 1 ? 1 : 0;
  if (lanes <= 1 && schedule.lane_parts.empty())
    return {};
  if (schedule.lanes == LaneKind::Vector)
    return "two indices have lanes";
  for (const LanePart &part : schedule.lane_parts) {
    if (at(part.index) >= product.size() || part.count < 2)
      return "a part of its lanes is not an index and a count above 1";
    product[part.index] *= part.count;
  }
  for (const IndexId i : product.ids())
    if (product[i] != schedule.splits[i].lane)
      return fmt::format("the lane parts of index {} make {} lanes, not {}", i, product[i],
                         schedule.splits[i].lane);
  if (schedule.lane_parts.size() < 2)
    return "its lanes have one part, which needs no list";
  return {};
}

Reason wrong_lanes(const Nest &nest, const Schedule &schedule, const Target &target) {
  const bool has_lanes = lane_index(schedule) || vector_index(schedule);
  if (schedule.lanes != target.lanes && has_lanes)
    return fmt::format("its lanes are {}s, the target has {}s", to_string(schedule.lanes),
                       to_string(target.lanes));
  if (Reason reason = wrong_parts(schedule))
    return reason;
  // A group of neighbours is a vector to a work-item, and none beside the lanes of one.
  int vectors = 0;
  const bool has_group = schedule.dot != nullptr && schedule.lanes == LaneKind::Vector;
  for (const IndexId i : nest.indices.ids())
    vectors +=
        schedule.splits[i].vec > 1 && (is_output(nest, i) ? !has_dot_rows(schedule) : !has_group)
            ? 1
            : 0;
  if (vectors > (schedule.lanes == LaneKind::Vector ? 0 : 1))
    return schedule.lanes == LaneKind::Vector ? "vectors inside vector lanes"
                                              : "two indices have vectors";
  const std::int64_t width = vector_width(schedule);
  if (width > 16 || (width & (width - 1)) != 0)
    return fmt::format("a vector of {} elements", width);
  std::int64_t items = 1;
  for (const Split &split : schedule.splits)
    if (schedule.lanes == LaneKind::WorkItem && items <= target.max_group)
      items *= split.lane;
  return schedule.lanes == LaneKind::WorkItem ? outside({"work_items", items, 1, target.max_group})
                                              : Reason{};
}

// Where an input is read is one place for all lanes of a vector, and known from memory alone.
Reason wrong_positions(const Nest &nest, const Schedule &schedule) {
  const std::size_t count = positions(nest);
  const std::optional<IndexId> vector = vector_index(schedule);
  for (std::size_t k = 0; count > 0 && k < nest.inputs.size(); ++k) {
    if (schedule.fills[k] != Fill::Direct)
      return fmt::format("input {} is copied, where positions say what is read", k);
    if (vector && k + count >= nest.inputs.size() && moves(nest.inputs[k], *vector))
      return fmt::format("input {} says other positions along the vector's lanes", k);
  }
  return {};
}

// There is a predicate per work-item, but none per element of a vector.
Reason wrong_guard(const Nest &nest, const Schedule &schedule) {
  const std::optional<IndexId> vector = vector_index(schedule);
  const auto moves = [&](const nest::Linear &linear) {
    return vector && linear.coeff[*vector] != 0;
  };
  for (const nest::Constraint &constraint : nest.constraints)
    if (moves(constraint.expr))
      return "a constraint depends on the vector's lanes";
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    if (is_staged(schedule.fills[k]) && has_neutral_fill(nest))
      continue;
    for (const nest::Dim &dim : nest.inputs[k].dims)
      if (dim.guarded && moves(dim.at))
        return fmt::format("input {} is guarded along the vector's lanes and not staged", k);
  }
  return {};
}

Reason wrong_pack(const Nest &nest, const Schedule &schedule, std::size_t k) {
  const nest::Operand &input = nest.inputs[k];
  if (!input.constant)
    return fmt::format("input {} is packed but not constant", k);
  if (std::any_of(input.dims.begin(), input.dims.end(),
                  [](const nest::Dim &dim) { return dim.guarded; }))
    return fmt::format("input {} is packed but guarded", k);
  if (schedule.fills[k] != Fill::PackedLocal || schedule.pipes[k].at)
    return {};
  for (const IndexId i : output_indices(nest))
    if (moves(input, i) && schedule.splits[i].tile != schedule.splits[i].step())
      return fmt::format("input {} is packed by steps of {} and staged by blocks", k,
                         nest.indices[i].name);
  return {};
}

// Steps of the lanes lie one after the other.
Reason wrong_prefetch(const Nest &nest, const Schedule &schedule, std::size_t k) {
  if (!schedule.pipes[k].prefetch)
    return {};
  const std::optional<IndexId> lane = lane_index(schedule);
  const bool by_steps = schedule.lanes == LaneKind::Vector && schedule.fills[k] == Fill::Packed &&
                        lane && moves(nest.inputs[k], *lane);
  return by_steps ? Reason{}
                  : fmt::format("input {} is prefetched but not packed by steps of a vector", k);
}

std::string_view ahead_words(const Pipe &stage) {
  return stage.is_async() ? "by asynchronous copies" : "in two buffers";
}

// Several buffers are filled in the innermost chunk loop, and all there are, in the same way.
Reason wrong_ahead(const Nest &nest, const Schedule &schedule, std::size_t k) {
  const Pipe &stage = schedule.pipes[k];
  const std::string_view how = ahead_words(stage);
  const std::vector<IndexId> chunks = chunked_indices(nest, schedule);
  if (schedule.lanes == LaneKind::Vector)
    return fmt::format("input {} is staged {}, which needs work-items", k, how);
  if (!stage.at || stage.at != chunks.back())
    return fmt::format("input {} is staged {} outside the innermost chunk loop", k, how);
  for (const IndexId i : output_indices(nest))
    if (schedule.splits[i].tile != schedule.splits[i].step())
      return fmt::format("input {} is staged {}, which needs one step of {} per block", k, how,
                         nest.indices[i].name);
  for (std::size_t other = 0; other < nest.inputs.size(); ++other) {
    const Pipe &beside = schedule.pipes[other];
    if (is_staged(schedule.fills[other]) && beside.at == stage.at &&
        (beside.engine != stage.engine || beside.stages != stage.stages))
      return fmt::format("input {} is staged {} and input {} otherwise in the same loop", k, how,
                         other);
  }
  return {};
}

// Registers hold one chunk beside the buffer that is read and the one that is filled.
Reason wrong_double_buffer(const Schedule &schedule, std::size_t k, const StageTile &tile) {
  if (schedule.pipes[k].stages != 2)
    return fmt::format("input {} is staged in {} buffers by work-items; need 1 or 2", k,
                       schedule.pipes[k].stages);
  const std::int64_t each = (tile.elems + group_size(schedule) - 1) / group_size(schedule);
  if (each > kMostAhead)
    return fmt::format(
        "input {} is staged in two buffers, for which each work-item would hold {} elements", k,
        each);
  return {};
}

// What an asynchronous copy can do: bytes as they are, or zeros.
Reason wrong_async(const Nest &nest, const Schedule &schedule, const Target &target, std::size_t k,
                   const StageTile &tile) {
  const Pipe &stage = schedule.pipes[k];
  const int input = static_cast<int>(k);
  if (!has(target, Feature::AsyncCopies))
    return fmt::format("input {} is staged by asynchronous copies, which the target lacks", k);
  if (stage.stages < 2 || stage.stages > kMostStages)
    return fmt::format("input {} is staged by asynchronous copies in {} buffers; need 2 to {}", k,
                       stage.stages, kMostStages);
  const DType held = held_type(nest, schedule, input);
  const bool is_packed_form = is_packed(schedule.fills[k]);
  if (!is_packed_form && type_of(nest, nest.inputs[k]) != held)
    return fmt::format("input {} is converted as it is staged, which no asynchronous copy does", k);
  if (size_bytes(held) != 4 && size_bytes(held) != 8)
    return fmt::format("input {} has elements of {} bytes; need 4 or 8 to copy them alone", k,
                       size_bytes(held));
  if (neutral_fill(nest) == 0)
    return {};
  for (const StageDim &dim : tile.dims)
    if (dim.checked)
      return fmt::format("input {} is padded with {}, asynchronous copies pad with 0", k,
                         neutral_fill(nest));
  return {};
}

// Vector lanes are copied turned from where they are a dimension's neighbours.
Reason wrong_layout(const Nest &nest, const Schedule &schedule, std::size_t k) {
  const Layout layout = schedule.pipes[k].layout;
  if (schedule.lanes == LaneKind::WorkItem || layout == Layout::Plain)
    return {};
  if (layout == Layout::Odd)
    return fmt::format("input {} is staged {}, a layout for work-items", k, kLayouts[layout]);
  const bool can_turn = schedule.fills[k] == Fill::Local &&
                        turned_dim(nest, schedule, static_cast<int>(k)).has_value();
  return can_turn
             ? Reason{}
             : fmt::format("input {} is staged transposed, and no dimension of it is copied whose "
                           "neighbours lanes are",
                           k);
}

// Whether what lies around a staged input, which has no value that leaves the result alone, may
// reach a result. Points of outputs alone that do not exist are not stored.
bool has_counted_padding(const Nest &nest, std::size_t k) {
  const nest::Operand &input = nest.inputs[k];
  const auto is_guarded = [](const nest::Dim &dim) { return dim.guarded || dim.by; };
  const Ids<IndexId> reduced = reduced_indices(nest);
  const bool is_plain =
      std::none_of(input.dims.begin(), input.dims.end(), is_guarded) &&
      std::none_of(reduced.begin(), reduced.end(), [&](IndexId i) { return moves(input, i); });
  return !nest.constraints.empty() || (!has_neutral_fill(nest) && !is_plain);
}

Reason wrong_stage(const Nest &nest, const Schedule &schedule, std::size_t k) {
  const Pipe &stage = schedule.pipes[k];
  if (stage.engine == Engine::Tma || stage.footprint != Footprint::Step)
    return fmt::format("input {} has a pipe that only matrix instructions read", k);
  if (!is_staged(schedule.fills[k]))
    return stage == Pipe{.stream = stage.stream, .prefetch = stage.prefetch}
               ? Reason{}
               : fmt::format("input {} has a staging level but is not staged", k);
  if (has_counted_padding(nest, k))
    return fmt::format("input {} is staged but its padding has no neutral value", k);
  const std::vector<IndexId> chunks = chunked_indices(nest, schedule);
  if (stage.at && std::find(chunks.begin(), chunks.end(), *stage.at) == chunks.end())
    return fmt::format("input {} is staged at an index that is not walked in chunks", k);
  return wrong_layout(nest, schedule, k);
}

// Of a staged input in several buffers.
Reason wrong_buffers(const Nest &nest, const Schedule &schedule, const Target &target,
                     std::size_t k, const StageTile &tile) {
  const Pipe &stage = schedule.pipes[k];
  if (!stage.is_ahead() && !stage.is_async())
    return {};
  if (schedule.fills[k] == Fill::Produced)
    return fmt::format("input {} is produced, and staged {}", k, ahead_words(stage));
  if (Reason reason = stage.is_async() ? wrong_async(nest, schedule, target, k, tile) : Reason{})
    return reason;
  if (Reason reason = wrong_ahead(nest, schedule, k))
    return reason;
  return stage.is_async() ? Reason{} : wrong_double_buffer(schedule, k, tile);
}

// Work-items copy neither what a producer fills, nor what a core instruction reads.
Reason wrong_copier(const Schedule &schedule) {
  for (std::size_t k = 0; k < schedule.pipes.size(); ++k)
    if (!schedule.pipes[k].copies_plainly() && !is_copied_by_items(schedule, static_cast<int>(k)))
      return fmt::format("input {} is not copied by work-items, and says how they copy it", k);
  return {};
}

Reason wrong_fill(const Nest &nest, const Schedule &schedule, const Target &target) {
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    if (is_packed(schedule.fills[k]))
      if (Reason reason = wrong_pack(nest, schedule, k))
        return reason;
    if (Reason reason = wrong_prefetch(nest, schedule, k))
      return reason;
    if (Reason reason = wrong_stage(nest, schedule, k))
      return reason;
    if (!is_staged(schedule.fills[k]))
      continue;
    const int input = static_cast<int>(k);
    const StageTile tile = stage_tile(nest, schedule, input);
    if (Reason reason = wrong_buffers(nest, schedule, target, k, tile))
      return reason;
    bytes += buffer_elems(schedule, input, tile) * size_bytes(held_type(nest, schedule, input));
  }
  bytes += result_bytes(nest, schedule) + lane_buffer_bytes(nest, schedule) +
           row_sums_elems(nest, schedule) * size_bytes(held_type(nest));
  if (bytes > target.local_bytes)
    return fmt::format("staging needs {} bytes per block, the target has {}", bytes,
                       target.local_bytes);
  return {};
}

Reason wrong_core_schedule(const Nest &nest, const Schedule &schedule, const Target &target) {
  if (schedule.dot != nullptr)
    return "a dot product beside a matrix instruction";
  if (stream_registers(schedule) > 0)
    return "an input streams through registers to matrix instructions";
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (is_packed(schedule.fills[k]))
      if (Reason reason = wrong_pack(nest, schedule, k))
        return reason;
  return wrong_core(nest, schedule, target);
}

} // namespace

Reason illegal_alone(const Nest &nest, const Schedule &schedule, const Target &target) {
  if (Reason reason = wrong_shape(nest, schedule))
    return reason;
  if (Reason reason = wrong_copier(schedule))
    return reason;
  if (Reason reason = wrong_result_store(nest, schedule))
    return reason;
  if (has_core(schedule))
    return wrong_core_schedule(nest, schedule, target);
  for (const IndexId i : nest.indices.ids())
    if (Reason reason = wrong_split(nest, schedule, i))
      return reason;
  if (Reason reason = wrong_lane_reduction(nest, schedule))
    return reason;
  if (Reason reason = wrong_lanes(nest, schedule, target))
    return reason;
  if (Reason reason = wrong_positions(nest, schedule))
    return reason;
  if (Reason reason = wrong_guard(nest, schedule))
    return reason;
  if (Reason reason = wrong_guards(nest, schedule))
    return reason;
  if (Reason reason = wrong_stream(nest, schedule))
    return reason;
  if (Reason reason = wrong_dot(nest, schedule, target))
    return reason;
  return wrong_fill(nest, schedule, target);
}

} // namespace tilefuse::schedule
