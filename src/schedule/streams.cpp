// SPDX-License-Identifier: Apache-2.0
#include "schedule/streams.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr int kMostRegisters = 8;
constexpr std::int64_t kMostValues = 128; // of an input, in all registers

bool is_looped(const Split &split) { return split.clip || split.tile / split.keep > 1; }

// Points that are tested one by one, and steps with bodies of their own.
Reason wrong_points(const Nest &nest, const Schedule &schedule) {
  const auto is_guarded = [](const nest::Operand &input) {
    return std::any_of(input.dims.begin(), input.dims.end(),
                       [](const nest::Dim &dim) { return dim.guarded; });
  };
  const bool tests =
      !has_neutral_fill(nest) && std::any_of(nest.inputs.begin(), nest.inputs.end(), is_guarded);
  if (!nest.constraints.empty() || tests || nest.inputs.size() > 2)
    return "an input streams where points are tested one by one";
  if (std::any_of(schedule.splits.begin(), schedule.splits.end(),
                  [](const Split &split) { return split.edge; }))
    return "an input streams where an index has edges";
  return {};
}

} // namespace

int stream_registers(const Schedule &schedule) {
  int most = 0;
  for (const Pipe &stage : schedule.pipes)
    most = std::max(most, stage.stream);
  return most;
}

std::optional<IndexId> stream_index(const Nest &nest, const Schedule &schedule) {
  for (auto i = schedule.order.rbegin(); i != schedule.order.rend() && !is_output(nest, *i); ++i)
    if (is_looped(schedule.splits[*i]))
      return *i;
  return std::nullopt;
}

bool is_in_body(const Nest &nest, const Schedule &schedule, IndexId index) {
  const auto place = [&](std::optional<IndexId> i) {
    return std::find(schedule.order.begin(), schedule.order.end(), i);
  };
  return !is_output(nest, index) && place(index) > place(stream_index(nest, schedule));
}

std::int64_t body_values(const Nest &nest, const Schedule &schedule, int input) {
  std::int64_t values = 1;
  for (const IndexId i : output_indices(nest))
    if (moves(nest.inputs[at(input)], i)) {
      values *= schedule.splits[i].keep;
      values *= schedule.lanes == LaneKind::WorkItem ? schedule.splits[i].vec : 1;
    }
  for (const IndexId i : reduced_indices(nest))
    if (is_in_body(nest, schedule, i))
      values *= schedule.splits[i].tile;
    else if (i == stream_index(nest, schedule))
      values *= schedule.splits[i].keep;
  return values;
}

Reason wrong_stream(const Nest &nest, const Schedule &schedule) {
  const int registers = stream_registers(schedule);
  if (std::all_of(schedule.pipes.begin(), schedule.pipes.end(),
                  [](const Pipe &stage) { return stage.stream == 0; }))
    return {};
  const std::optional<IndexId> loop = stream_index(nest, schedule);
  if (!loop)
    return "an input streams, but no reduced index is looped over";
  const Split &split = schedule.splits[*loop];
  const std::string &name = nest.indices[*loop].name;
  if (split.clip)
    return fmt::format("an input streams along {}, which is clipped", name);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    const int stream = schedule.pipes[k].stream;
    if (stream == 0)
      continue;
    if (stream < 2 || stream > kMostRegisters)
      return fmt::format("input {} streams through {} registers; need 2 to {}", k, stream,
                         kMostRegisters);
    if (stream != registers)
      return fmt::format("input {} streams through {} registers and another one through {}", k,
                         stream, registers);
    if (split.tile % (split.keep * stream) != 0)
      return fmt::format("input {} streams through {} registers, which do not divide the {} bodies "
                         "of {}",
                         k, stream, split.tile / split.keep, name);
    if (const std::int64_t values = stream * body_values(nest, schedule, static_cast<int>(k));
        values > kMostValues)
      return fmt::format("input {} would hold {} values in registers; {} at most", k, values,
                         kMostValues);
  }
  return wrong_points(nest, schedule);
}

} // namespace tilefuse::schedule
