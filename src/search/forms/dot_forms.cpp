// SPDX-License-Identifier: Apache-2.0
#include "search/forms/dot_forms.h"

#include <algorithm>
#include <cstdlib>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/dots.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Fill;
using schedule::Schedule;

constexpr std::int64_t kShortLoop = 4;

std::int64_t stride(const Nest &nest, int input, IndexId index) {
  return nest::flat(nest.inputs[at(input)], nest.indices.size()).coeff[index];
}

bool is_guarded(const nest::Operand &input) {
  return std::any_of(input.dims.begin(), input.dims.end(),
                     [](const nest::Dim &dim) { return dim.guarded; });
}

// What work-items pack: a constant.
std::optional<int> constant_input(const Nest &nest) {
  for (int k = 0; k < 2; ++k)
    if (nest.inputs[at(k)].constant && !is_guarded(nest.inputs[at(k)]))
      return k;
  return std::nullopt;
}

// The input that is packed: a constant whose index the lanes take.
std::optional<int> packed_input(const Nest &nest, IndexId lane) {
  for (int k = 0; k < 2; ++k)
    if (const nest::Operand &input = nest.inputs[at(k)]; input.constant && !is_guarded(input) &&
                                                         stride(nest, k, lane) != 0 &&
                                                         stride(nest, 1 - k, lane) == 0)
      return k;
  return std::nullopt;
}

// The reduced index that has neighbours next to each other in the other input; the longest.
std::optional<IndexId> grouped_index(const Nest &nest, int packed) {
  std::optional<IndexId> best;
  for (const IndexId i : reduced_indices(nest))
    if (stride(nest, 1 - packed, i) == 1 && stride(nest, packed, i) != 0 &&
        (!best || extent(nest, i) > extent(nest, *best)))
      best = i;
  return best;
}

// The output index whose points are rows of the other input: the nearest in the result.
std::optional<IndexId> row_index(const Nest &nest, int packed) {
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest))
    if (extent(nest, i) > 1 && stride(nest, packed, i) == 0 && stride(nest, 1 - packed, i) != 0 &&
        (!best || std::llabs(out.coeff[i]) < std::llabs(out.coeff[*best])))
      best = i;
  return best;
}

std::int64_t largest_divisor(std::int64_t of, std::int64_t most) {
  std::int64_t divisor = std::min(of, most);
  while (of % divisor != 0)
    --divisor;
  return divisor;
}

// Rows of as many points as there are and the instruction takes, all groups that divide the index.
bool take_rows(const Nest &nest, int packed, IndexId depth, Schedule &schedule) {
  const DotOp &op = *schedule.dot;
  const std::optional<IndexId> index = row_index(nest, packed);
  if (!index || schedule::dot_side(nest, op, packed) != schedule::DotSide::B)
    return false;
  schedule::Split &split = schedule.splits[depth];
  split.keep = largest_divisor(split.tile / op.products, op.groups);
  set_rows(nest, schedule, *index, std::min<std::int64_t>(op.rows, extent(nest, *index)), 1);
  return true;
}

} // namespace

std::vector<std::int64_t> row_counts(const Nest &nest, const DotOp &op, IndexId index) {
  std::vector<std::int64_t> counts = {std::min<std::int64_t>(op.rows, extent(nest, index)),
                                      largest_divisor(extent(nest, index), op.rows)};
  if (counts[0] == counts[1] || counts[1] == 1)
    counts.pop_back();
  return counts;
}

void set_rows(const Nest &nest, Schedule &schedule, IndexId index, std::int64_t rows,
              std::int64_t copies) {
  for (const IndexId i : output_indices(nest))
    if (schedule::Split &split = schedule.splits[i]; split.vec > 1)
      split = {};
  schedule.splits[index] = {.tile = rows * copies, .keep = copies, .vec = rows};
}

std::optional<IndexId> dot_lanes(const Nest &nest, const DotOp &op) {
  if (!schedule::fits(nest, op))
    return std::nullopt;
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest))
    if (extent(nest, i) > 1 && packed_input(nest, i) &&
        (!best || std::llabs(out.coeff[i]) < std::llabs(out.coeff[*best])))
      best = i;
  return best;
}

std::optional<Schedule> item_dots(const Nest &nest, const DotOp &op, Schedule schedule) {
  const std::optional<int> packed = schedule::fits(nest, op) ? constant_input(nest) : std::nullopt;
  const std::optional<IndexId> index = packed ? grouped_index(nest, *packed) : std::nullopt;
  if (!index)
    return std::nullopt;
  schedule.dot = &op;
  schedule::Split &split = schedule.splits[*index];
  const std::int64_t groups = (split.tile + op.products - 1) / op.products;
  split.keep = std::max<std::int64_t>(1, std::min(groups, split.keep / op.products));
  split.tile = groups * op.products;
  split.vec = op.products;
  schedule.fills[at(*packed)] = Fill::Packed;
  schedule.pipes[at(*packed)] = {};
  const std::vector<IndexId> chunked = chunked_indices(nest, schedule);
  schedule::Pipe &other = schedule.pipes[at(1 - *packed)];
  const bool is_chunk =
      other.at && std::find(chunked.begin(), chunked.end(), *other.at) != chunked.end();
  other = {.at = is_chunk ? other.at : std::nullopt};
  return schedule;
}

std::optional<Schedule> with_dots(const Nest &nest, const DotOp &op, Schedule schedule) {
  if (schedule.lanes == LaneKind::WorkItem)
    return item_dots(nest, op, std::move(schedule));
  const std::optional<IndexId> lane = dot_lanes(nest, op);
  const std::optional<int> packed = lane ? packed_input(nest, *lane) : std::nullopt;
  const std::optional<IndexId> index = packed ? grouped_index(nest, *packed) : std::nullopt;
  if (!index)
    return std::nullopt;
  const int other = 1 - *packed;
  const std::int64_t groups = (extent(nest, *index) + op.products - 1) / op.products;
  schedule.dot = &op;
  schedule.splits[*index] = {
      .tile = groups * op.products, .keep = groups <= kShortLoop ? groups : 1, .vec = op.products};
  schedule.fills[at(*packed)] = Fill::Packed;
  const bool is_ready =
      type_of(nest, nest.inputs[at(other)]) == schedule::dot_type(nest, op, other) &&
      extent(nest, *index) % op.products == 0;
  if (!is_ready)
    schedule.fills[at(other)] = Fill::Local;
  if (has_rows(op) && !take_rows(nest, *packed, *index, schedule))
    return std::nullopt;
  return schedule;
}

} // namespace tilefuse::search
