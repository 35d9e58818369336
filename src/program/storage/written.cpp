// SPDX-License-Identifier: Apache-2.0
#include "program/storage/written.h"

#include <algorithm>
#include <numeric>

#include "program/storage/boxes.h"

namespace tilefuse::program {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kFar = std::int64_t{1} << 40; // larger numbers are not reasoned about
constexpr int kMaxRounds = 64;
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 21;

struct Interval {
  std::int64_t lo = -kFar;
  std::int64_t hi = kFar; // inclusive
};

// 0 <= sum of coeff * index + constant <= top, and the sum is a multiple of `step`.
struct Condition {
  Shape coeff;
  std::int64_t constant = 0;
  std::int64_t top = 0;
  std::int64_t step = 1;
};

// v as an integer of modest size, scaled by a common denominator.
std::optional<std::int64_t> scaled(const Rational &value, std::int64_t step) {
  const Wide product = Wide{value.num()} * (step / value.den());
  if (product > kFar || product < -kFar)
    return std::nullopt;
  return static_cast<std::int64_t>(product);
}

enum class Values { Integers, Any };

std::optional<std::int64_t> common_step(const Affine &affine) {
  std::int64_t step = affine.constant.den();
  for (const Rational &coeff : affine.coeff) {
    if (step > kFar || coeff.den() > kFar)
      return std::nullopt;
    const Wide wider = Wide{step} / std::gcd(step, coeff.den()) * coeff.den();
    if (wider > kFar)
      return std::nullopt;
    step = static_cast<std::int64_t>(wider);
  }
  return step > kFar ? std::nullopt : std::optional(step);
}

// 0 <= affine < bound in whole numbers; subscripts are integers, constraints take any value.
std::optional<Condition> to_condition(const Affine &affine, std::int64_t bound, Values values) {
  const auto step = common_step(affine);
  const auto limit = step ? scaled(Rational(bound), *step) : std::nullopt;
  const auto constant = step ? scaled(affine.constant, *step) : std::nullopt;
  if (!limit || !constant)
    return std::nullopt;
  Condition condition;
  condition.step = values == Values::Integers ? *step : 1;
  condition.constant = *constant;
  condition.top = *limit - condition.step;
  for (const Rational &coeff : affine.coeff) {
    const auto value = scaled(coeff, *step);
    if (!value)
      return std::nullopt;
    condition.coeff.push_back(*value);
  }
  return condition;
}

std::int64_t clamp(Wide value) {
  return static_cast<std::int64_t>(std::clamp<Wide>(value, -kFar - 1, kFar + 1));
}

Wide floor_div(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// One contraction's index space: conditions on all indices, and their ranges.
class Space {
public:
  bool add(const Affine &affine, std::int64_t bound, Values values) {
    auto condition = to_condition(affine, bound, values);
    if (!condition)
      return false;
    conditions_.push_back(std::move(*condition));
    return true;
  }

  // Narrows the ranges; false when some index stays unbounded.
  bool propagate(std::size_t indices) {
    ranges_.assign(indices, {});
    bool changed = true;
    for (int round = 0; changed && round < kMaxRounds; ++round) {
      changed = false;
      for (const Condition &condition : conditions_)
        changed |= narrow(condition);
    }
    return std::all_of(ranges_.begin(), ranges_.end(),
                       [](const Interval &range) { return range.lo > -kFar && range.hi < kFar; });
  }

  bool is_empty() const {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [](const Interval &r) { return r.lo > r.hi; });
  }

  const std::vector<Condition> &conditions() const { return conditions_; }
  const Interval &range(std::size_t index) const { return ranges_[index]; }

private:
  bool narrow(const Condition &condition) {
    Wide lo = condition.constant;
    Wide hi = condition.constant;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      lo += least(condition, i);
      hi += most(condition, i);
    }
    bool changed = false;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const Wide factor = condition.coeff[i];
      if (factor == 0)
        continue;
      const Wide from = -(hi - most(condition, i));               // factor * index >= from
      const Wide to = condition.top - (lo - least(condition, i)); // factor * index <= to
      const std::int64_t new_lo =
          clamp(factor > 0 ? -floor_div(-from, factor) : -floor_div(to, -factor));
      const std::int64_t new_hi =
          clamp(factor > 0 ? floor_div(to, factor) : floor_div(-from, -factor));
      changed |= shrink(ranges_[i], new_lo, new_hi);
      if (changed)
        return true;
    }
    return changed;
  }

  static bool shrink(Interval &range, std::int64_t lo, std::int64_t hi) {
    const bool changed = lo > range.lo || hi < range.hi;
    range = {std::max(range.lo, lo), std::min(range.hi, hi)};
    return changed;
  }

  Wide least(const Condition &condition, std::size_t i) const {
    const Wide factor = condition.coeff[i];
    return factor * (factor > 0 ? ranges_[i].lo : ranges_[i].hi);
  }
  Wide most(const Condition &condition, std::size_t i) const {
    const Wide factor = condition.coeff[i];
    return factor * (factor > 0 ? ranges_[i].hi : ranges_[i].lo);
  }

  std::vector<Condition> conditions_;
  std::vector<Interval> ranges_;
};

// Indices that conditions tie together, and the output dimensions whose subscripts use them.
struct Component {
  std::vector<std::size_t> indices; // those of the output subscript first
  std::vector<std::size_t> conditions;
  std::vector<std::size_t> out_dims; // condition d is the range of output subscript d
};

std::vector<Component> components_of(const Space &space, std::size_t indices,
                                     std::size_t out_rank) {
  std::vector<std::size_t> group(indices);
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto used = [&](const Condition &condition) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < indices; ++i)
      if (condition.coeff[i] != 0)
        result.push_back(i);
    return result;
  };
  for (const Condition &condition : space.conditions())
    for (std::size_t i : used(condition)) {
      const std::size_t from = group[i];
      const std::size_t to = group[used(condition).front()];
      std::replace(group.begin(), group.end(), from, to);
    }
  std::vector<Component> components(indices);
  for (std::size_t i = 0; i < indices; ++i)
    components[group[i]].indices.push_back(i);
  for (std::size_t c = 0; c < space.conditions().size(); ++c) {
    const auto members = used(space.conditions()[c]);
    if (members.empty())
      continue;
    Component &component = components[group[members.front()]];
    component.conditions.push_back(c);
    if (c < out_rank)
      component.out_dims.push_back(c);
  }
  std::erase_if(components, [](const Component &component) { return component.indices.empty(); });
  return components;
}

// Searches one component for points that meet all its conditions.
class Search {
public:
  Search(const Space &space, Component &component, std::int64_t &steps)
      : space_(space), component_(component), steps_(steps), point_(component.indices.size(), 0) {}

  // Whether any point meets the conditions; nothing when the budget runs out.
  std::optional<bool> exists(std::size_t from = 0) {
    if (from == point_.size()) {
      if (--steps_ < 0)
        return std::nullopt;
      return holds();
    }
    const Interval range = space_.range(component_.indices[from]);
    for (point_[from] = range.lo; point_[from] <= range.hi; ++point_[from]) {
      const auto found = exists(from + 1);
      if (!found || *found)
        return found;
    }
    return false;
  }

  // Marks the values of the output subscript (component's one) that some point has.
  bool mark(std::vector<bool> &written) {
    const Condition &out = space_.conditions()[component_.out_dims.front()];
    auto &indices = component_.indices;
    const auto split = std::stable_partition(indices.begin(), indices.end(),
                                             [&](std::size_t i) { return out.coeff[i] != 0; });
    return mark_from(0, static_cast<std::size_t>(split - indices.begin()), out, written);
  }

private:
  bool mark_from(std::size_t depth, std::size_t own, const Condition &out,
                 std::vector<bool> &written) {
    if (depth == own)
      return mark_point(own, out, written);
    const Interval range = space_.range(component_.indices[depth]);
    for (point_[depth] = range.lo; point_[depth] <= range.hi; ++point_[depth])
      if (!mark_from(depth + 1, own, out, written))
        return false;
    return true;
  }

  bool mark_point(std::size_t own, const Condition &out, std::vector<bool> &written) {
    if (--steps_ < 0)
      return false;
    const Wide sum = value(out);
    if (sum < 0 || sum > out.top || sum % out.step != 0)
      return true;
    const auto element = static_cast<std::size_t>(sum / out.step);
    if (written[element])
      return true;
    const auto found = exists(own);
    if (found && *found)
      written[element] = true;
    return found.has_value();
  }

  Wide value(const Condition &condition) const {
    Wide sum = condition.constant;
    for (std::size_t k = 0; k < point_.size(); ++k)
      sum += Wide{condition.coeff[component_.indices[k]]} * point_[k];
    return sum;
  }

  bool holds() const {
    return std::all_of(component_.conditions.begin(), component_.conditions.end(),
                       [&](std::size_t c) {
                         const Condition &condition = space_.conditions()[c];
                         const Wide sum = value(condition);
                         return sum >= 0 && sum <= condition.top && sum % condition.step == 0;
                       });
  }

  const Space &space_;
  Component &component_;
  std::int64_t &steps_;
  Shape point_;
};

// The component is one index that is itself (plus a constant) the output subscript: its range is
// exact.
bool is_plain(const Space &space, const Component &component) {
  const std::size_t index = component.indices.front();
  const Condition &out = space.conditions()[component.out_dims.front()];
  return component.indices.size() == 1 && out.coeff[index] == 1 &&
         std::all_of(component.conditions.begin(), component.conditions.end(),
                     [&](std::size_t c) { return space.conditions()[c].step == 1; });
}

// Narrows `box` to what the component writes; false when unsure.
bool narrow_box(const Space &space, Component &component, std::int64_t &steps, Box &box) {
  const std::size_t dim = component.out_dims.front();
  if (is_plain(space, component)) {
    const Interval range = space.range(component.indices.front());
    box.lo[dim] = range.lo + space.conditions()[dim].constant;
    box.hi[dim] = range.hi + 1 + space.conditions()[dim].constant;
    return true;
  }
  if (box.hi[dim] > kMaxSteps)
    return false;
  std::vector<bool> written(static_cast<std::size_t>(box.hi[dim]), false);
  if (!Search(space, component, steps).mark(written))
    return false;
  const auto first = std::find(written.begin(), written.end(), true);
  const auto last = std::find(first, written.end(), false);
  box.lo[dim] = first - written.begin();
  box.hi[dim] = last - written.begin();
  return std::find(last, written.end(), true) == written.end();
}

// Output subscripts without an index write one element; conditions without an index hold or nothing
// is written.
bool apply_constants(const Space &space, std::size_t out_rank, Box &box) {
  for (std::size_t c = 0; c < space.conditions().size(); ++c) {
    const Condition &condition = space.conditions()[c];
    if (std::any_of(condition.coeff.begin(), condition.coeff.end(), [](auto k) { return k != 0; }))
      continue;
    const std::int64_t value = condition.constant;
    if (value < 0 || value > condition.top || value % condition.step != 0)
      return false;
    if (c < out_rank)
      box.lo[c] = value / condition.step, box.hi[c] = box.lo[c] + 1;
  }
  return true;
}

bool collect(const Program &program, const Shape &shape, const Contraction &contraction,
             Space &space) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!space.add(contraction.out[d], shape[d], Values::Integers))
      return false;
  for (const Access &access : contraction.in)
    for (std::size_t d = 0; d < access.subscripts.size(); ++d)
      if (!space.add(access.subscripts[d], program[access.tensor].shape[d], Values::Integers))
        return false;
  return std::all_of(contraction.constraints.begin(), contraction.constraints.end(),
                     [&](const Constraint &constraint) {
                       return space.add(constraint.expr, constraint.bound, Values::Any);
                     });
}

} // namespace

std::optional<Box> written_box(const Program &program, const Shape &shape,
                               const Contraction &contraction) {
  std::optional<Box> nothing;
  if (!shape.empty())
    nothing = Box{Shape(shape.size(), 0), Shape(shape.size(), 0)};
  const std::size_t indices = contraction.indices.size();
  Box box = whole(shape);
  Space space;
  if (!collect(program, shape, contraction, space) || !space.propagate(indices))
    return std::nullopt;
  if (space.is_empty() || !apply_constants(space, shape.size(), box))
    return nothing;
  std::int64_t steps = kMaxSteps;
  for (Component &component : components_of(space, indices, shape.size())) {
    if (component.out_dims.size() > 1)
      return std::nullopt;
    if (component.out_dims.empty()) {
      const auto found = Search(space, component, steps).exists();
      if (!found)
        return std::nullopt;
      if (!*found)
        return nothing;
    } else if (!narrow_box(space, component, steps, box)) {
      return std::nullopt;
    }
  }
  return box;
}

} // namespace tilefuse::program
