// SPDX-License-Identifier: Apache-2.0
#include "cost/waves.h"

#include <algorithm>

#include "schedule/blocks.h"

namespace tilefuse::cost {
namespace {

constexpr std::int64_t kMostDealt = 96;

// A kind of block: smaller in some dimensions.
struct Kind {
  double time = 0;
  double count = 1;
};

// Of the dimensions from `d` on.
void walk_kinds(const std::vector<GridDim> &grid, std::size_t d, std::vector<bool> &edge,
                double count, const std::function<void(const std::vector<bool> &, double)> &visit) {
  if (d == grid.size())
    return visit(edge, count);
  const double blocks = static_cast<double>(grid[d].blocks);
  walk_kinds(grid, d + 1, edge, count * (blocks - (grid[d].has_edge ? 1 : 0)), visit);
  if (!grid[d].has_edge)
    return;
  edge[d] = true;
  walk_kinds(grid, d + 1, edge, count, visit);
  edge[d] = false;
}

class Grid {
public:
  Grid(const std::vector<GridDim> &dims,
       const std::function<double(const std::vector<bool> &, double)> &block_time) {
    for_each_kind(dims, [&](const std::vector<bool> &edge, double count) {
      kinds_.push_back({count > 0 ? block_time(edge, count) : 0, count});
    });
    std::size_t weight = 1;
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      const std::size_t own = dim->has_edge ? weight : 0;
      if (dim->blocks > 1)
        digits_.push_back({dim->blocks, own});
      else
        first_kind_ += own;
      weight *= dim->has_edge ? 2 : 1;
    }
    while (!digits_.empty() && digits_.back().weight == 0)
      digits_.pop_back();
  }

  double total() const {
    double sum = 0;
    for (const Kind &kind : kinds_)
      sum += kind.time * kind.count;
    return sum;
  }
  double longest() const {
    double most = 0;
    for (const Kind &kind : kinds_)
      most = std::max(most, kind.time);
    return most;
  }
  bool is_uniform() const { return kinds_.size() == 1; }
  // Time of block `number`, the last dimension fastest.
  double time(std::int64_t number) const {
    std::size_t kind = first_kind_;
    for (const Digit &digit : digits_) {
      const std::int64_t rest = number / digit.blocks;
      kind += number - rest * digit.blocks == digit.blocks - 1 ? digit.weight : 0;
      number = rest;
    }
    return kinds_[kind].time;
  }

private:
  // A dimension of several blocks, and what its last block adds to a kind's number.
  struct Digit {
    std::int64_t blocks = 1;
    std::size_t weight = 0;
  };
  std::vector<Kind> kinds_;
  std::vector<Digit> digits_;  // fastest first, up to the slowest with an edge
  std::size_t first_kind_ = 0; // of what dimensions of one block add
};

// Blocks that all take as long, dealt one by one.
double dealt_evenly(const Grid &blocks, std::int64_t count, std::int64_t units) {
  double busiest = 0;
  for (std::int64_t n = 0; n < count; n += units)
    busiest += blocks.time(0);
  return busiest;
}

// What is left of the stretch of blocks that a unit began with.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Of `count` blocks, run `number` of `at_once`; of many blocks as if all took the same.
double run_time(const Grid &blocks, std::int64_t count, std::int64_t at_once, std::int64_t number) {
  const std::int64_t first = number * at_once;
  const std::int64_t last = std::min(count, first + at_once);
  if (count > kMostDealt)
    return blocks.total() * static_cast<double>(last - first) / static_cast<double>(count);
  double time = 0;
  for (std::int64_t block = first; block < last; ++block)
    time += blocks.time(block);
  return time;
}

// Every unit takes runs from the front of its own stretch, then from the back of others', as the
// runtime's threads do.
double dealt(const Grid &blocks, std::int64_t count, const Dealing &dealing) {
  const std::int64_t at_once = dealing.at_once;
  const std::int64_t units = dealing.units;
  const std::int64_t runs = (count + at_once - 1) / at_once;
  std::vector<Stretch> stretches;
  for (std::int64_t u = 0; u < units; ++u)
    stretches.push_back({runs * u / units, runs * (u + 1) / units});
  std::vector<double> busy(stretches.size(), 0);
  for (std::int64_t left = runs; left > 0; --left) {
    const auto idle = std::min_element(busy.begin(), busy.end());
    const auto unit = static_cast<std::size_t>(idle - busy.begin());
    std::size_t from = unit;
    while (stretches[from].begin == stretches[from].end)
      from = (from + 1) % stretches.size();
    Stretch &stretch = stretches[from];
    *idle += run_time(blocks, count, at_once, from == unit ? stretch.begin++ : --stretch.end);
  }
  return *std::max_element(busy.begin(), busy.end());
}

} // namespace

void for_each_kind(const std::vector<GridDim> &grid,
                   const std::function<void(const std::vector<bool> &, double)> &visit) {
  std::vector<bool> edge(grid.size(), false);
  walk_kinds(grid, 0, edge, 1, visit);
}

double makespan(const std::vector<GridDim> &grid, const Dealing &dealing,
                const std::function<double(const std::vector<bool> &, double)> &block_time) {
  const Grid blocks(grid, block_time);
  std::int64_t count = 1;
  for (const GridDim &dim : grid)
    count *= dim.blocks;
  if (dealing.units <= 1)
    return blocks.total();
  if ((count + dealing.at_once - 1) / dealing.at_once > kMostDealt)
    return blocks.total() / dealing.units +
           blocks.longest() * static_cast<double>(dealing.at_once) / 2;
  return dealing.at_once == 1 && blocks.is_uniform() ? dealt_evenly(blocks, count, dealing.units)
                                                     : dealt(blocks, count, dealing);
}

} // namespace tilefuse::cost
