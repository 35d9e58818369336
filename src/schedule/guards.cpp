// SPDX-License-Identifier: Apache-2.0
#include "schedule/guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::schedule {
namespace {

using nest::Dim;
using nest::Nest;

constexpr std::int64_t kLongLoop = 7;

// Looped point by point, over its whole extent.
bool is_plain_loop(const Nest &nest, const Split &split, IndexId index) {
  return split.step() == 1 && split.tile == extent(nest, index);
}

// Every tap stands in the straight code of a step.
bool is_unrolled(const Nest &nest, const Split &split, IndexId index) {
  return split.keep == extent(nest, index) && split.tile == split.keep;
}

// Whether a loop over reduced `index` could keep the subscript inside, were it clipped. Bounds of
// other than neighbouring elements take divisions, which only a long loop is worth.
bool could_clip(const Nest &nest, const Schedule &schedule, const Dim &dim, IndexId index) {
  const std::int64_t step = std::llabs(dim.at.coeff[index]);
  if (!dim.guarded || step == 0 || (step > 1 && extent(nest, index) < kLongLoop))
    return false;
  for (const IndexId i : dim.at.coeff.ids()) {
    if (i == index || dim.at.coeff[i] == 0)
      continue;
    if (!is_output(nest, i) || schedule.splits[i].step() != 1)
      return false;
  }
  return true;
}

// The only output index that moves the subscript, where all its taps are unrolled.
std::optional<IndexId> single_output(const Nest &nest, const Schedule &schedule, const Dim &dim) {
  std::optional<IndexId> found;
  for (const IndexId i : dim.at.coeff.ids()) {
    if (dim.at.coeff[i] == 0)
      continue;
    if (!is_output(nest, i)) {
      if (!is_unrolled(nest, schedule.splits[i], i))
        return std::nullopt;
    } else if (found || schedule.splits[i].lane > 1) {
      return std::nullopt;
    } else {
      found = i;
    }
  }
  return found;
}

bool could_have_edge(const Nest &nest, const Schedule &schedule, std::size_t input,
                     const Dim &dim) {
  return dim.guarded && schedule.fills[input] == Fill::Direct &&
         single_output(nest, schedule, dim).has_value();
}

template <typename Visit> void for_dims(const Nest &nest, const Visit &visit) {
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    for (const Dim &dim : nest.inputs[k].dims)
      visit(k, dim);
}

// Smallest and largest subscript of `points` points of `index` from `first`, over all taps.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Range subscripts(const Nest &nest, const Dim &dim, IndexId index, const EdgeStep &step) {
  const std::int64_t start = dim.at.constant + dim.at.coeff[index] * step.first;
  Range range{start, start};
  for (const IndexId i : dim.at.coeff.ids()) {
    const std::int64_t points = i == index ? step.points : extent(nest, i);
    const std::int64_t reach = dim.at.coeff[i] * (points - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Points of [0, extent) for which start + step * point lies in [0, size).
std::int64_t points_inside(std::int64_t start, std::int64_t step, std::int64_t extent,
                           std::int64_t size) {
  if (step < 0)
    return points_inside(start + step * (extent - 1), -step, extent, size);
  const std::int64_t first = std::max<std::int64_t>(0, -floor_div(start, step));
  const std::int64_t last = std::min(extent - 1, floor_div(size - 1 - start, step));
  return std::max<std::int64_t>(0, last - first + 1);
}

constexpr std::int64_t kMostStarts = 64; // taps of which each is counted by itself

// Share of a dimension's points whose subscript lies inside: the longest index is counted at once,
// for each point of the others.
double share_inside(const Nest &nest, const Dim &dim) {
  IndexId longest{};
  const auto moved = [&](IndexId i) {
    return dim.at.coeff[i] == 0 ? std::int64_t{0} : extent(nest, i);
  };
  for (const IndexId i : dim.at.coeff.ids())
    longest = moved(i) > moved(longest) ? i : longest;
  std::vector<std::int64_t> starts = {dim.at.constant};
  for (const IndexId i : dim.at.coeff.ids()) {
    if (i == longest || moved(i) == 0)
      continue;
    if (static_cast<std::int64_t>(starts.size()) * moved(i) > kMostStarts)
      return 1; // of so many the edge hardly counts
    std::vector<std::int64_t> next;
    for (std::int64_t start : starts)
      for (std::int64_t p = 0; p < moved(i); ++p)
        next.push_back(start + dim.at.coeff[i] * p);
    starts = std::move(next);
  }
  std::int64_t inside = 0;
  for (std::int64_t start : starts)
    inside += points_inside(start, dim.at.coeff[longest], moved(longest), dim.size);
  return static_cast<double>(inside) /
         static_cast<double>(static_cast<std::int64_t>(starts.size()) * moved(longest));
}

std::optional<std::string> wrong_clip(const Nest &nest, const Schedule &schedule, IndexId index) {
  const std::string &name = nest.indices[index].name;
  if (is_output(nest, index))
    return fmt::format("{} is clipped but no reduced index", name);
  if (!is_plain_loop(nest, schedule.splits[index], index))
    return fmt::format("{} is clipped, and unrolled or walked in chunks", name);
  if (!can_clip(nest, schedule, index))
    return fmt::format("clipping {} settles no test", name);
  return {};
}

std::optional<std::string> wrong_edge(const Nest &nest, const Schedule &schedule, IndexId index) {
  const std::string &name = nest.indices[index].name;
  if (!is_output(nest, index) || !can_have_edges(nest, schedule, index))
    return fmt::format("edges of {} settle no test", name);
  if (nest.inputs.size() > 2 || !nest.constraints.empty() || !has_neutral_fill(nest))
    return fmt::format("{} has edges in a nest with constraints or without a neutral value", name);
  if (edge_steps(nest, schedule, index).size() > kMostEdgeSteps)
    return fmt::format("{} has more than {} steps at its edges", name, kMostEdgeSteps);
  return {};
}

} // namespace

bool is_clipped_by(const Nest &nest, const Schedule &schedule, const Dim &dim, IndexId index) {
  return schedule.splits[index].clip && could_clip(nest, schedule, dim, index);
}

std::optional<IndexId> edge_of(const Nest &nest, const Schedule &schedule, std::size_t input,
                               const Dim &dim) {
  if (!could_have_edge(nest, schedule, input, dim))
    return std::nullopt;
  const std::optional<IndexId> index = single_output(nest, schedule, dim);
  return schedule.splits[*index].edge ? index : std::nullopt;
}

Guard guard_of(const Nest &nest, const Schedule &schedule, std::size_t input, const Dim &dim) {
  if (!dim.guarded)
    return Guard::Never;
  for (const IndexId i : nest.indices.ids())
    if (is_clipped_by(nest, schedule, dim, i))
      return Guard::Clipped;
  return edge_of(nest, schedule, input, dim) ? Guard::Edged : Guard::Checked;
}

std::vector<EdgeStep> edge_steps(const Nest &nest, const Schedule &schedule, IndexId index) {
  const std::int64_t size = schedule.splits[index].step();
  const std::int64_t extent = nest::extent(nest, index);
  const std::int64_t count = (extent + size - 1) / size;
  const auto step_at = [&](std::int64_t number) {
    return EdgeStep{number * size, std::min(size, extent - number * size)};
  };
  const auto is_edge = [&](const EdgeStep &step) {
    bool leaves = step.points < size;
    for_dims(nest, [&](std::size_t k, const Dim &dim) {
      if (edge_of(nest, schedule, k, dim) != index)
        return;
      const Range range = subscripts(nest, dim, index, step);
      leaves = leaves || range.low < 0 || range.high >= dim.size;
    });
    return leaves;
  };
  std::vector<EdgeStep> steps;
  std::int64_t low = 0;
  while (low < count && steps.size() <= kMostEdgeSteps && is_edge(step_at(low)))
    steps.push_back(step_at(low++));
  const std::size_t at = steps.size();
  for (std::int64_t high = count; high-- > low && steps.size() <= kMostEdgeSteps;) {
    if (!is_edge(step_at(high)))
      break;
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at), step_at(high));
  }
  return steps;
}

double computed_share(const Nest &nest, const Schedule &schedule) {
  double share = 1;
  for_dims(nest, [&](std::size_t k, const Dim &dim) {
    const Guard guard = guard_of(nest, schedule, k, dim);
    if (guard == Guard::Clipped || guard == Guard::Edged)
      share *= share_inside(nest, dim);
  });
  return share;
}

bool can_clip(const Nest &nest, const Schedule &schedule, IndexId index) {
  bool found = false;
  for_dims(nest, [&](std::size_t, const Dim &dim) {
    found = found || could_clip(nest, schedule, dim, index);
  });
  return found && schedule.lanes == LaneKind::Vector &&
         is_plain_loop(nest, schedule.splits[index], index);
}

bool can_have_edges(const Nest &nest, const Schedule &schedule, IndexId index) {
  bool found = false;
  for_dims(nest, [&](std::size_t k, const Dim &dim) {
    found = found || (could_have_edge(nest, schedule, k, dim) &&
                      single_output(nest, schedule, dim) == index);
  });
  return found && schedule.lanes == LaneKind::Vector;
}

std::optional<std::string> wrong_guards(const Nest &nest, const Schedule &schedule) {
  for (const IndexId i : nest.indices.ids()) {
    const Split &split = schedule.splits[i];
    if ((split.clip || split.edge) && schedule.lanes != LaneKind::Vector)
      return fmt::format("{} is clipped or has edges, which needs vector lanes",
                         nest.indices[i].name);
    if (split.clip)
      if (auto reason = wrong_clip(nest, schedule, i))
        return reason;
    if (split.edge)
      if (auto reason = wrong_edge(nest, schedule, i))
        return reason;
  }
  return {};
}

} // namespace tilefuse::schedule
