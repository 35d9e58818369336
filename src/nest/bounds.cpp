// SPDX-License-Identifier: Apache-2.0
#include "nest/bounds.h"

#include <algorithm>
#include <numeric>

#include "nest/checked.h"

namespace tilefuse::nest {
namespace {

constexpr int kMaxRounds = 256;
constexpr std::int64_t kMaxPoints = std::int64_t{1} << 22;

using Wide = __int128;

Wide floor_div(Wide a, Wide b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
Wide ceil_div(Wide a, Wide b) { return -floor_div(-a, b); }

// A sum of intervals of which some ends may be missing.
struct WideRange {
  Wide lo = 0;
  Wide hi = 0;
  bool has_lo = true;
  bool has_hi = true;

  void add(std::int64_t factor, const Bounds &bounds) {
    const std::optional<std::int64_t> &low = factor > 0 ? bounds.lo : bounds.hi;
    const std::optional<std::int64_t> &high = factor > 0 ? bounds.hi : bounds.lo;
    has_lo = has_lo && low.has_value();
    has_hi = has_hi && high.has_value();
    lo += static_cast<Wide>(factor) * low.value_or(0);
    hi += static_cast<Wide>(factor) * high.value_or(0);
  }
};

// Raises `lo` and lowers `hi` of one index; true when that changed something.
bool tighten(Bounds &bounds, std::optional<Wide> lo, std::optional<Wide> hi) {
  bool changed = false;
  if (lo && (!bounds.lo || *lo > *bounds.lo)) {
    bounds.lo = narrow(*lo);
    changed = true;
  }
  if (hi && (!bounds.hi || *hi < *bounds.hi)) {
    bounds.hi = narrow(*hi);
    changed = true;
  }
  return changed;
}

// factor * index + rest in [0, bound).
bool apply(Bounds &bounds, std::int64_t factor, const WideRange &rest, std::int64_t bound) {
  std::optional<Wide> least;
  std::optional<Wide> most;
  if (rest.has_hi)
    least = -rest.hi;
  if (rest.has_lo)
    most = static_cast<Wide>(bound) - 1 - rest.lo;
  if (factor < 0)
    std::swap(least, most);
  if (least)
    least = ceil_div(*least, factor);
  if (most)
    most = floor_div(*most, factor);
  return tighten(bounds, least, most);
}

std::size_t terms(const Linear &form) {
  return static_cast<std::size_t>(std::count_if(form.coeff.begin(), form.coeff.end(),
                                                [](std::int64_t value) { return value != 0; }));
}

// One pass of a condition over its indices.
bool narrow_by(std::vector<Bounds> &box, const Condition &condition) {
  bool changed = false;
  const std::vector<std::int64_t> &coeff = condition.form.coeff;
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (coeff[i] == 0)
      continue;
    WideRange rest{condition.form.constant, condition.form.constant, true, true};
    for (std::size_t j = 0; j < box.size(); ++j)
      if (j != i && coeff[j] != 0)
        rest.add(coeff[j], box[j]);
    changed |= apply(box[i], coeff[i], rest, condition.bound);
  }
  return changed;
}

bool is_empty(const std::vector<Bounds> &box) {
  return std::any_of(box.begin(), box.end(), [](const Bounds &bounds) {
    return bounds.is_finite() && *bounds.lo > *bounds.hi;
  });
}

// Conditions that share reduced indices, and the indices they use.
struct Component {
  std::vector<const Condition *> conditions;
  std::vector<std::size_t> outputs;
  std::vector<std::size_t> reduced;
};

bool shares_reduced(const Component &component, const Condition &condition) {
  return std::any_of(component.reduced.begin(), component.reduced.end(),
                     [&](std::size_t i) { return condition.form.coeff[i] != 0; });
}

void join(std::vector<std::size_t> &into, const std::vector<std::size_t> &from) {
  for (std::size_t i : from)
    if (std::find(into.begin(), into.end(), i) == into.end())
      into.push_back(i);
}

std::vector<Component> components(std::span<const Condition> conditions, std::size_t outputs) {
  std::vector<Component> all;
  for (const Condition &condition : conditions) {
    Component merged;
    merged.conditions.push_back(&condition);
    for (std::size_t i = 0; i < condition.form.coeff.size(); ++i)
      if (condition.form.coeff[i] != 0)
        (i < outputs ? merged.outputs : merged.reduced).push_back(i);
    std::vector<Component> rest;
    for (Component &component : all) {
      if (!shares_reduced(component, condition)) {
        rest.push_back(std::move(component));
        continue;
      }
      merged.conditions.insert(merged.conditions.end(), component.conditions.begin(),
                               component.conditions.end());
      join(merged.outputs, component.outputs);
      join(merged.reduced, component.reduced);
    }
    rest.push_back(std::move(merged));
    all = std::move(rest);
  }
  return all;
}

// Steps `point` over the box of `which`; false after the last one.
bool next(std::vector<std::int64_t> &point, const std::vector<std::size_t> &which,
          std::span<const Index> indices) {
  for (std::size_t i : which) {
    if (++point[i] < indices[i].extent)
      return true;
    point[i] = 0;
  }
  return false;
}

bool holds(const Condition &condition, const std::vector<std::int64_t> &point) {
  Wide value = condition.form.constant;
  for (std::size_t i = 0; i < point.size(); ++i)
    value += static_cast<Wide>(condition.form.coeff[i]) * point[i];
  return value >= 0 && value < condition.bound;
}

bool has_reduced_point(const Component &component, std::vector<std::int64_t> &point,
                       std::span<const Index> indices) {
  bool found = false;
  do {
    found = std::all_of(component.conditions.begin(), component.conditions.end(),
                        [&](const Condition *condition) { return holds(*condition, point); });
  } while (!found && next(point, component.reduced, indices));
  for (std::size_t i : component.reduced)
    point[i] = 0;
  return found;
}

bool covers(const Component &component, std::span<const Index> indices) {
  Wide points = 1;
  for (const std::vector<std::size_t> *which : {&component.outputs, &component.reduced})
    for (std::size_t i : *which) {
      points *= indices[i].extent;
      if (points > kMaxPoints)
        return false;
    }
  std::vector<std::int64_t> point(indices.size(), 0);
  do {
    if (!has_reduced_point(component, point, indices))
      return false;
  } while (next(point, component.outputs, indices));
  return true;
}

} // namespace

bool narrow_box(std::vector<Bounds> &box, std::span<const Condition> conditions, bool single_only) {
  for (const Condition &condition : conditions)
    if (terms(condition.form) == 0 &&
        (condition.form.constant < 0 || condition.form.constant >= condition.bound))
      return false;
  bool changed = true;
  for (int round = 0; changed && round < kMaxRounds; ++round) {
    changed = false;
    for (const Condition &condition : conditions) {
      if (single_only && terms(condition.form) != 1)
        continue;
      changed |= narrow_by(box, condition);
      if (is_empty(box))
        return false;
    }
  }
  return true;
}

bool covers_outputs(std::span<const Condition> conditions, std::span<const Index> indices,
                    std::size_t outputs) {
  const std::vector<Component> all = components(conditions, outputs);
  return std::all_of(all.begin(), all.end(),
                     [&](const Component &component) { return covers(component, indices); });
}

} // namespace tilefuse::nest
