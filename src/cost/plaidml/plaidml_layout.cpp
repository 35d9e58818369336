// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "nest/integer/checked.h"

namespace tilefuse::cost::plaidml {
namespace {

using nest::checked_add;
using nest::checked_mul;

// Indices that move the tensor's address, by rising absolute stride; equal ones by position.
std::vector<std::size_t> by_stride(const Access &access) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < access.strides.size(); ++i)
    if (access.strides[i] != 0)
      used.push_back(i);
  std::stable_sort(used.begin(), used.end(), [&](std::size_t a, std::size_t b) {
    return std::llabs(access.strides[a]) < std::llabs(access.strides[b]);
  });
  return used;
}

// The first merged index that walks a divisor of the stride and reaches one step of it.
std::size_t find_host(const std::vector<MergedIndex> &merged, std::int64_t stride) {
  for (std::size_t m = 0; m < merged.size(); ++m)
    if (stride % merged[m].stride == 0 && merged[m].range >= stride / merged[m].stride)
      return m;
  return merged.size();
}

void merge(SharedLayout &layout, const Access &access, const Tile &tile) {
  for (const std::size_t i : by_stride(access)) {
    const std::int64_t stride = std::llabs(access.strides[i]);
    const std::size_t host = find_host(layout.merged, stride);
    if (host == layout.merged.size())
      layout.merged.push_back({.members = {}, .stride = stride});
    MergedIndex &merged = layout.merged[host];
    const std::int64_t steps = stride / merged.stride;
    const std::int64_t span = checked_mul(steps, tile[i] - 1);
    merged.members.push_back(i);
    merged.range = checked_add(merged.range, span);
    if (access.strides[i] < 0)
      merged.zero = checked_add(merged.zero, span);
    layout.members.push_back({i, host, access.strides[i] < 0 ? -steps : steps});
  }
}

// Odd ranges first, for they need no padding; larger ones first, so that padding repeats seldom.
void order(SharedLayout &layout) {
  std::vector<std::size_t> from(layout.merged.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::stable_sort(from.begin(), from.end(), [&](std::size_t a, std::size_t b) {
    const std::int64_t ra = layout.merged[a].range;
    const std::int64_t rb = layout.merged[b].range;
    return ra % 2 != rb % 2 ? ra % 2 == 1 : ra > rb;
  });
  std::vector<MergedIndex> sorted;
  std::vector<std::size_t> to(from.size());
  for (std::size_t m = 0; m < from.size(); ++m) {
    to[from[m]] = m;
    sorted.push_back(std::move(layout.merged[from[m]]));
  }
  layout.merged = std::move(sorted);
  for (Member &member : layout.members)
    member.merged = to[member.merged];
}

// Every stride but the first is odd; the padding behind the last index is dropped.
void place(SharedLayout &layout) {
  bool padded = false;
  for (MergedIndex &merged : layout.merged) {
    merged.local_stride = layout.elems;
    layout.elems = checked_mul(layout.elems, merged.range);
    if (layout.elems % 2 == 0) {
      ++layout.elems;
      padded = true;
    }
    layout.local_zero += merged.local_stride * merged.zero;
    layout.global_zero = checked_add(layout.global_zero, checked_mul(merged.stride, merged.zero));
  }
  if (padded)
    --layout.elems;
}

// Short strides first; of the others those whose range wastes fewest threads.
void order_loads(SharedLayout &layout, std::int64_t line_elems) {
  layout.load_order.resize(layout.merged.size());
  std::iota(layout.load_order.begin(), layout.load_order.end(), std::size_t{0});
  const auto is_near = [&](const MergedIndex &m) { return m.stride < line_elems / 2; };
  const auto filled = [](const MergedIndex &m) {
    return static_cast<float>(m.range) / static_cast<float>(power_of_two_from(m.range));
  };
  const auto before = [&](std::size_t a, std::size_t b) {
    const MergedIndex &ma = layout.merged[a];
    const MergedIndex &mb = layout.merged[b];
    if (is_near(ma) != is_near(mb))
      return is_near(ma);
    return is_near(ma) ? ma.stride < mb.stride : filled(ma) > filled(mb);
  };
  std::stable_sort(layout.load_order.begin(), layout.load_order.end(), before);
}

} // namespace

SharedLayout shared_layout(const Access &access, const Tile &tile, std::int64_t line_elems) {
  SharedLayout layout;
  merge(layout, access, tile);
  order(layout);
  place(layout);
  order_loads(layout, line_elems);
  return layout;
}

std::int64_t loads(const SharedLayout &layout, std::int64_t line_elems) {
  std::int64_t elems = 1;
  std::int64_t saving = 1;
  for (const MergedIndex &merged : layout.merged) {
    elems = checked_mul(elems, merged.range);
    const std::int64_t reach = checked_mul(merged.stride, merged.range);
    saving = std::max(saving, std::min(line_elems, reach) / merged.stride);
  }
  return elems / saving;
}

std::string name_of(const MergedIndex &merged, const std::vector<std::string> &names) {
  std::string name;
  for (const std::size_t i : merged.members)
    name += (name.empty() ? "" : "_") + names[i];
  return name;
}

} // namespace tilefuse::cost::plaidml
