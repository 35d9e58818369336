// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/reach.h"

#include <algorithm>

#include "nest/evaluate/odometer.h"

namespace tilefuse::nest {
namespace {

constexpr std::int64_t kMaxPoints = std::int64_t{1} << 23;
constexpr std::size_t kMaxBoxes = 1024;

// Conditions that share indices, and the indices they use.
struct Component {
  std::vector<const Condition *> conditions;
  std::vector<std::size_t> outputs;
  std::vector<std::size_t> reduced;
};

bool uses_any(const Condition &condition, const std::vector<std::size_t> &indices) {
  return std::any_of(indices.begin(), indices.end(),
                     [&](std::size_t i) { return condition.form.coeff[i] != 0; });
}

void join(std::vector<std::size_t> &into, const std::vector<std::size_t> &from) {
  for (const std::size_t i : from)
    if (std::find(into.begin(), into.end(), i) == into.end())
      into.push_back(i);
  std::sort(into.begin(), into.end());
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
      if (!uses_any(condition, component.outputs) && !uses_any(condition, component.reduced)) {
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

// Row-major over the extents of a component's outputs.
struct Bitmap {
  std::vector<std::int64_t> extents;
  std::vector<bool> bits;
};

bool holds(const std::vector<const Condition *> &conditions, const std::vector<std::int64_t> &at) {
  for (std::size_t c = 0; c < conditions.size(); ++c)
    if (at[c] < 0 || at[c] >= conditions[c]->bound)
      return false;
  return true;
}

std::optional<Bitmap> mark(const Component &component, std::span<const Index> indices) {
  Bitmap map;
  Wide points = 1;
  std::size_t outputs = 1;
  for (const std::size_t i : component.outputs)
    map.extents.push_back(indices[i].extent);
  for (const auto *which : {&component.outputs, &component.reduced})
    for (const std::size_t i : *which) {
      points *= indices[i].extent;
      if (points > kMaxPoints)
        return std::nullopt;
      if (which == &component.outputs)
        outputs *= static_cast<std::size_t>(indices[i].extent);
    }
  std::vector<std::size_t> loops = component.outputs;
  loops.insert(loops.end(), component.reduced.begin(), component.reduced.end());
  std::vector<Linear> forms;
  for (const Condition *condition : component.conditions)
    forms.push_back(condition->form);
  map.bits.assign(outputs, false);
  const std::size_t inner = static_cast<std::size_t>(points) / outputs;
  Odometer odometer(indices, loops, forms);
  std::size_t n = 0;
  do {
    if (holds(component.conditions, odometer.values()))
      map.bits[n / inner] = true;
    ++n;
  } while (odometer.next());
  return map;
}

// Boxes of the positions in [begin, begin + size) of the bitmap whose bit is `wanted`, over the
// dimensions from `d` on: runs of equal slices are one.
std::vector<IndexBox> boxes_of(const Bitmap &map, bool wanted, std::size_t d, std::size_t begin,
                               std::size_t size) {
  if (d == map.extents.size())
    return map.bits[begin] == wanted ? std::vector<IndexBox>{{}} : std::vector<IndexBox>{};
  const auto count = static_cast<std::size_t>(map.extents[d]);
  const std::size_t slice = size / count;
  const auto start = [&](std::size_t i) {
    return map.bits.begin() + static_cast<std::ptrdiff_t>(begin + i * slice);
  };
  std::vector<IndexBox> all;
  for (std::size_t i = 0; i < count && all.size() <= kMaxBoxes;) {
    std::size_t end = i + 1;
    while (end < count && std::equal(start(i), start(i + 1), start(end)))
      ++end;
    for (IndexBox &box : boxes_of(map, wanted, d + 1, begin + i * slice, slice)) {
      box.insert(box.begin(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(end) - 1});
      all.push_back(std::move(box));
    }
    i = end;
  }
  return all;
}

// Every box of `all` cut to each of the component's `parts`.
std::vector<IndexBox> cut(const std::vector<IndexBox> &all, const Component &component,
                          const std::vector<IndexBox> &parts) {
  std::vector<IndexBox> result;
  for (const IndexBox &box : all)
    for (const IndexBox &part : parts) {
      result.push_back(box);
      for (std::size_t k = 0; k < part.size(); ++k)
        result.back()[component.outputs[k]] = part[k];
    }
  return result;
}

} // namespace

std::optional<Reach> find_reach(std::span<const Condition> conditions,
                                std::span<const Index> indices, std::size_t outputs) {
  IndexBox whole;
  for (std::size_t i = 0; i < outputs; ++i)
    whole.push_back({0, indices[i].extent - 1});
  Reach reach{{whole}, {}};
  for (const Component &component : components(conditions, outputs)) {
    const std::optional<Bitmap> map = mark(component, indices);
    if (!map)
      return std::nullopt;
    const auto unreached =
        cut(reach.reached, component, boxes_of(*map, false, 0, 0, map->bits.size()));
    reach.unreached.insert(reach.unreached.end(), unreached.begin(), unreached.end());
    reach.reached = cut(reach.reached, component, boxes_of(*map, true, 0, 0, map->bits.size()));
    if (reach.reached.size() > kMaxBoxes || reach.unreached.size() > kMaxBoxes)
      return std::nullopt;
  }
  return reach;
}

} // namespace tilefuse::nest
