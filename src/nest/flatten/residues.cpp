// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/residues.h"

#include <algorithm>

#include "nest/integer/checked.h"
#include "nest/integer/fraction.h"

namespace tilefuse::nest {
namespace {

constexpr std::int64_t kMaxClasses = 1 << 16;

std::int64_t floor_mod(Wide a, std::int64_t m) {
  const Wide rest = a % m;
  return static_cast<std::int64_t>(rest < 0 ? rest + m : rest);
}

// Steps through residues below `radix`, the last fastest; false after the last.
bool next(std::vector<std::int64_t> &residues, const std::vector<std::int64_t> &radix) {
  for (std::size_t j = residues.size(); j-- > 0;) {
    if (++residues[j] < radix[j])
      return true;
    residues[j] = 0;
  }
  return false;
}

} // namespace

bool ClassTaps::is_reached() const {
  return std::all_of(reached.begin(), reached.end(), [](bool value) { return value; });
}

Residues::Residues(const Defracted &defracted, std::vector<Interval> ranges)
    : defracted_(defracted), ranges_(std::move(ranges)) {
  for (std::size_t j = 0; j < defracted.reduced.outputs; ++j)
    radix_.push_back(std::min(defracted.radix[j], ranges_[j].hi - ranges_[j].lo + 1));
  for (std::size_t j = 0; j < radix_.size(); ++j)
    runs_.push_back(cut(j));
}

// Output variables on whose residues it depends what the classes along variable j have in common:
// some variable follows from digits of both.
std::vector<bool> Residues::coupled(std::size_t j) const {
  const auto &basis = defracted_.lattice.basis;
  std::vector<bool> with(radix_.size(), false);
  with[j] = true;
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t k = 0; k < basis.size(); ++k) {
      const auto uses = [&](std::size_t i) { return basis[i][k] != 0; };
      bool meets = false;
      for (std::size_t i = 0; i < with.size(); ++i)
        meets = meets || (with[i] && uses(i));
      for (std::size_t i = 0; meets && i < with.size(); ++i)
        if (uses(i) && !with[i])
          with[i] = grew = true;
    }
  }
  return with;
}

// Digits of the output variables follow from the residues, one variable after the other.
ClassTaps Residues::at(const std::vector<std::int64_t> &residues) const {
  const Lattice &lattice = defracted_.lattice;
  const std::size_t n = ranges_.size();
  ClassTaps result{std::vector<bool>(residues.size(), true), std::vector<std::int64_t>(n, 0),
                   std::vector<std::int64_t>(n, 0)};
  std::vector<Wide> value(lattice.offset.begin(), lattice.offset.end());
  for (std::size_t j = 0; j < n; ++j) {
    const std::int64_t radix = defracted_.radix[j];
    if (j >= residues.size()) {
      result.first[j] = narrow(ranges_[j].lo + floor_mod(value[j] - ranges_[j].lo, radix));
      result.count[j] = (ranges_[j].hi - result.first[j] + radix) / radix;
      continue;
    }
    const std::int64_t left = floor_mod(Wide{ranges_[j].lo} + residues[j] - value[j], radix);
    result.count[j] = (ranges_[j].hi - ranges_[j].lo - residues[j] + radix) / radix;
    if (left % lattice.basis[j][j] != 0) {
      result.reached[j] = false;
      continue;
    }
    for (std::size_t k = j; k < n; ++k)
      value[k] += Wide{lattice.basis[j][k]} * (left / lattice.basis[j][j]);
  }
  return result;
}

// Whether the classes of `residue` and the one before it are alike, whatever the residues of the
// variables coupled `with` it are. `steps`: how far the taps of each variable move, if known.
bool Residues::is_alike(std::size_t j, std::int64_t residue, const std::vector<bool> &with,
                        std::vector<std::int64_t> &steps) const {
  std::vector<std::int64_t> others = radix_;
  for (std::size_t i = 0; i < others.size(); ++i)
    if (i == j || !with[i])
      others[i] = 1;
  const auto reached = [&](const ClassTaps &taps) {
    for (std::size_t i = 0; i < with.size(); ++i)
      if (with[i] && !taps.reached[i])
        return false;
    return true;
  };
  std::vector<std::int64_t> residues(radix_.size(), 0);
  do {
    residues[j] = residue;
    const ClassTaps here = at(residues);
    residues[j] = residue - 1;
    const ClassTaps before = at(residues);
    residues[j] = 0;
    if (reached(here) != reached(before) || here.count[j] != before.count[j])
      return false;
    if (!reached(here))
      continue;
    if (here.count != before.count)
      return false;
    std::vector<std::int64_t> moved;
    for (std::size_t k = 0; k < here.first.size(); ++k)
      moved.push_back(here.first[k] - before.first[k]);
    if (steps.empty())
      steps = moved;
    if (steps != moved)
      return false;
  } while (next(residues, others));
  return true;
}

std::vector<Run> Residues::cut(std::size_t j) const {
  const std::vector<bool> with = coupled(j);
  Wide classes = 1;
  for (std::size_t i = 0; i < with.size(); ++i) {
    classes *= with[i] ? radix_[i] : 1;
    if (classes > kMaxClasses)
      throw Error(ErrorCode::Limit, "strides leave more than 65536 residue classes of the result");
  }
  std::vector<Run> runs = {{0, 1}};
  std::vector<std::int64_t> steps;
  for (std::int64_t residue = 1; residue < radix_[j]; ++residue) {
    if (is_alike(j, residue, with, steps)) {
      ++runs.back().count;
      continue;
    }
    runs.push_back({residue, 1});
    steps.clear();
  }
  return runs;
}

} // namespace tilefuse::nest
