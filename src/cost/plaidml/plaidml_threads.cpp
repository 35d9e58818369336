// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_threads.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "nest/integer/checked.h"

namespace tilefuse::cost::plaidml {
namespace {

using nest::checked_mul;

std::vector<OutputIndex> output_indices(const Flat &flat, const Tile &tile) {
  std::vector<OutputIndex> indices;
  for (std::size_t i = 0; i < flat.rank(); ++i)
    if (flat.is_output(i))
      indices.push_back({.index = i,
                         .tile = tile[i],
                         .stride = flat.accesses[0].strides[i],
                         .groups = ceil_div(flat.ranges[i], tile[i])});
  std::sort(indices.begin(), indices.end(), [](const OutputIndex &a, const OutputIndex &b) {
    const std::int64_t sa = std::llabs(a.stride);
    const std::int64_t sb = std::llabs(b.stride);
    return sa != sb ? sa < sb : b.index < a.index;
  });
  return indices;
}

// The index to double next: one that stays evenly divided, or has fewer threads, replaces the pick.
OutputIndex *pick_for_threads(std::vector<OutputIndex> &indices, std::int64_t threads) {
  OutputIndex *pick = nullptr;
  bool pick_divides = false;
  std::int64_t fewest = threads;
  for (OutputIndex &index : indices) {
    if (index.threads >= index.tile)
      continue;
    const bool divides = index.tile % (index.threads * 2) == 0;
    if (!(divides && !pick_divides) && index.threads >= fewest)
      continue;
    pick = &index;
    pick_divides = divides;
    fewest = index.threads;
  }
  return pick;
}

void deal_threads(std::vector<OutputIndex> &indices, std::int64_t threads,
                  std::int64_t line_elems) {
  if (indices.empty())
    return;
  OutputIndex &fastest = indices.front();
  fastest.threads = power_of_two_from(std::min({line_elems, threads, fastest.tile}));
  for (std::int64_t left = threads / fastest.threads; left > 1; left /= 2) {
    OutputIndex *pick = pick_for_threads(indices, threads);
    if (pick == nullptr)
      return;
    pick->threads *= 2;
  }
}

bool is_power_of_two(std::int64_t x) { return power_of_two_from(x) == x; }

// Counts that are no powers of two first, smallest first, each to the dimension that is smallest.
void place_groups(OutputPlan &plan) {
  std::vector<OutputIndex *> order;
  for (OutputIndex &index : plan.indices)
    if (index.groups > 1)
      order.push_back(&index);
  std::stable_sort(order.begin(), order.end(), [](const OutputIndex *a, const OutputIndex *b) {
    return std::make_tuple(is_power_of_two(a->groups), a->groups) <
           std::make_tuple(is_power_of_two(b->groups), b->groups);
  });
  for (OutputIndex *index : order) {
    const auto smallest = std::min_element(plan.grid.begin(), plan.grid.end());
    index->grid_dim = static_cast<int>(smallest - plan.grid.begin());
    *smallest = checked_mul(*smallest, index->groups);
  }
}

std::int64_t group_threads(const Flat &flat, std::int64_t most) {
  std::int64_t points = 1;
  for (const std::int64_t range : flat.ranges)
    points = std::min(most, points * std::min(most, range));
  return std::min(most, power_of_two_from(points));
}

void deal_reduction(ThreadPlan &plan, const Flat &flat, const Tile &tile) {
  std::int64_t left = plan.threads / plan.output.threads();
  for (std::size_t i = 0; i < flat.rank(); ++i) {
    if (flat.is_output(i))
      continue;
    const std::int64_t threads = std::min(left, power_of_two_from(tile[i]));
    plan.reduction.push_back({flat.names[i], tile[i], threads});
    left /= threads;
    for (std::int64_t x = threads; x > 1; x /= 2)
      ++plan.merge_steps;
  }
}

std::vector<IndexThreads> load_threads(const SharedLayout &layout, const Flat &flat,
                                       std::int64_t left) {
  std::vector<IndexThreads> loop;
  for (const std::size_t m : layout.load_order) {
    const MergedIndex &merged = layout.merged[m];
    const std::int64_t threads = std::min(left, power_of_two_from(merged.range));
    loop.push_back({name_of(merged, flat.names), merged.range, threads});
    left /= threads;
  }
  return loop;
}

std::vector<std::size_t> loop_order(const OutputPlan &plan, const Flat &flat) {
  std::vector<std::size_t> order(plan.indices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto worth = [&](std::size_t k) {
    const OutputIndex &index = plan.indices[k];
    return unevenness(flat.ranges[index.index], index.tile, index.threads);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  return order;
}

} // namespace

std::int64_t OutputPlan::threads() const {
  std::int64_t product = 1;
  for (const OutputIndex &index : indices)
    product *= index.threads;
  return product;
}

OutputPlan output_plan(const Flat &flat, const Tile &tile, std::int64_t threads,
                       std::int64_t line_elems) {
  OutputPlan plan;
  plan.indices = output_indices(flat, tile);
  const std::int64_t line = std::max<std::int64_t>(line_elems, 1);
  deal_threads(plan.indices, threads, line);
  for (const OutputIndex &index : plan.indices) {
    plan.lines =
        checked_mul(plan.lines, index.stride == 1 ? ceil_div(index.tile, line) : index.tile);
    plan.accumulators = checked_mul(plan.accumulators, index.registers());
  }
  place_groups(plan);
  return plan;
}

int unevenness(std::int64_t range, std::int64_t tile, std::int64_t threads) {
  return (range % tile == 0 ? 0 : 2) + (tile % threads == 0 ? 0 : 1);
}

ThreadPlan thread_plan(const Flat &flat, const Tile &tile, const Settings &settings) {
  ThreadPlan plan;
  plan.threads = group_threads(flat, settings.threads);
  plan.output =
      output_plan(flat, tile, plan.threads, settings.mem_width / flat.accesses[0].bytes());
  if (flat.is_contraction)
    deal_reduction(plan, flat, tile);
  for (std::size_t a = 1; a < flat.accesses.size(); ++a) {
    const Access &access = flat.accesses[a];
    const SharedLayout layout = shared_layout(access, tile, settings.mem_width / access.bytes());
    plan.loads.push_back(load_threads(layout, flat, plan.threads));
  }
  plan.loop_order = loop_order(plan.output, flat);
  return plan;
}

} // namespace tilefuse::cost::plaidml
