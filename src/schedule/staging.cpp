// SPDX-License-Identifier: Apache-2.0
#include "schedule/staging.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace tilefuse::schedule {
namespace {

using nest::Nest;

// Points of index i that one block walks: its tile, or the whole extent of a reduced index.
std::int64_t span_in_block(const Nest& nest, const Schedule& schedule, std::size_t i) {
  const bool reduced = static_cast<int>(i) >= nest.output_indices;
  return reduced ? nest.indices[i].extent : schedule.splits[i].tile;
}

StageDim measure(const Nest& nest, const Schedule& schedule, const nest::Dim& dim, int position) {
  StageDim stage;
  stage.dim = position;
  std::int64_t highest = 0;
  bool overruns = false;
  for (std::size_t i = 0; i < nest.indices.size(); ++i) {
    const std::int64_t reach = dim.at.coeff[i] * (span_in_block(nest, schedule, i) - 1);
    (reach < 0 ? stage.lowest : highest) += reach;
    const bool partial = static_cast<int>(i) < nest.output_indices &&
                         nest.indices[i].extent % schedule.splits[i].tile != 0;
    overruns = overruns || (partial && dim.at.coeff[i] != 0);
  }
  stage.range = highest - stage.lowest + 1;
  stage.checked = dim.guarded || overruns;
  return stage;
}

}  // namespace

StageTile stage_tile(const Nest& nest, const Schedule& schedule, int input) {
  const nest::Operand& operand = nest.inputs[static_cast<std::size_t>(input)];
  StageTile tile;
  for (std::size_t d = 0; d < operand.dims.size(); ++d)
    tile.dims.push_back(measure(nest, schedule, operand.dims[d], static_cast<int>(d)));
  std::stable_sort(tile.dims.begin(), tile.dims.end(), [&](const StageDim& a, const StageDim& b) {
    const auto stride = [&](const StageDim& s) {
      return std::llabs(operand.dims[static_cast<std::size_t>(s.dim)].stride);
    };
    return stride(a) > stride(b);
  });
  for (auto dim = tile.dims.rbegin(); dim != tile.dims.rend(); ++dim) {
    dim->stride = tile.elems;
    tile.elems *= dim->range;
  }
  return tile;
}

PackLayout pack_layout(const Nest& nest, const Schedule& schedule, int input) {
  const nest::Operand& operand = nest.inputs[static_cast<std::size_t>(input)];
  const nest::Linear at = nest::flat(operand, nest.indices.size());
  const int lane = lane_index(schedule);
  PackLayout layout;
  const auto append = [&](int index, std::int64_t count, std::int64_t step) {
    layout.dims.push_back({index, count, step});
    layout.elems *= count;
  };
  const auto uses = [&](int index) { return at.coeff[static_cast<std::size_t>(index)] != 0; };
  const auto extent = [&](int index) {
    return nest.indices[static_cast<std::size_t>(index)].extent;
  };
  for (int i = 0; i < nest.output_indices; ++i)
    if (i != lane && uses(i)) append(i, extent(i), 1);
  const std::int64_t step =
      lane < 0 ? 1 : schedule.splits[static_cast<std::size_t>(lane)].step();
  const bool by_lane = lane >= 0 && uses(lane);
  if (by_lane) append(lane, (extent(lane) + step - 1) / step, step);
  for (int i : schedule.order)
    if (i >= nest.output_indices && uses(i)) append(i, extent(i), 1);
  if (by_lane) append(lane, step, 1);
  return layout;
}

std::vector<KernelArg> kernel_args(const Nest& nest, const Schedule& schedule) {
  std::vector<bool> used(nest.slots.size(), false);
  std::vector<KernelArg> packed;
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    if (schedule.fills[k] == Fill::Packed) {
      packed.push_back({.packed_input = static_cast<int>(k)});
    } else {
      used[static_cast<std::size_t>(nest.inputs[k].slot)] = true;
    }
  }
  for (const nest::Operand& extra : nest.extras) used[static_cast<std::size_t>(extra.slot)] = true;
  used[static_cast<std::size_t>(nest.out.slot)] = true;
  std::vector<KernelArg> args;
  for (std::size_t s = 0; s < used.size(); ++s)
    if (used[s]) args.push_back({.slot = static_cast<int>(s)});
  args.insert(args.end(), packed.begin(), packed.end());
  return args;
}

bool has_neutral_fill(const Nest& nest) {
  if (nest.comb == program::Comb::None) return true;
  return nest.agg == program::Agg::Sum && nest.comb == program::Comb::Mul;
}

double neutral_fill(const Nest& nest) {
  return nest.comb == program::Comb::Mul ? 0.0 : nest::initial_value(nest.agg, nest.acc_type);
}

DType held_type(const Nest& nest) {
  if (nest.acc_type == DType::F16 || nest.acc_type == DType::BF16) return DType::F32;
  const bool moves = nest.agg == program::Agg::Assign && nest.comb == program::Comb::None;
  return nest.acc_type == DType::Bool && !moves ? DType::I32 : nest.acc_type;
}

std::int64_t accumulators(const Nest& nest, const Schedule& schedule) {
  std::int64_t count = 1;
  for (int i = 0; i < nest.output_indices; ++i)
    count *= schedule.splits[static_cast<std::size_t>(i)].keep;
  return count;
}

}  // namespace tilefuse::schedule
