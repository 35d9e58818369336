// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_flat.h"

#include <algorithm>

namespace tilefuse::cost::plaidml {
namespace {

template <class Visit> void for_each_access(Flat &flat, const Visit &visit) {
  for (Access &access : flat.accesses)
    visit(access);
  for (Access &access : flat.post_inputs)
    visit(access);
}

template <class Test> bool all_accesses(const Flat &flat, const Test &test) {
  return std::all_of(flat.accesses.begin(), flat.accesses.end(), test) &&
         std::all_of(flat.post_inputs.begin(), flat.post_inputs.end(), test);
}

// i may be j itself: an index of range 1 then disappears.
bool can_fuse(const Flat &flat, std::size_t i, std::size_t j) {
  const std::vector<std::int64_t> &out = flat.accesses[0].strides;
  if (out[i] == 0 || out[j] == 0 || out[i] != flat.ranges[j] * out[j])
    return false;
  return all_accesses(flat, [&](const Access &access) {
    return access.strides[i] == out[i] && access.strides[j] == out[j];
  });
}

void fuse(Flat &flat, std::size_t i, std::size_t j) {
  const auto gone = static_cast<std::ptrdiff_t>(i);
  flat.names[j] = flat.names[i] + "_" + flat.names[j];
  flat.names.erase(flat.names.begin() + gone);
  flat.ranges[j] *= flat.ranges[i];
  flat.ranges.erase(flat.ranges.begin() + gone);
  for_each_access(flat,
                  [&](Access &access) { access.strides.erase(access.strides.begin() + gone); });
}

bool fuse_any(Flat &flat) {
  for (std::size_t i = 0; i < flat.rank(); ++i)
    for (std::size_t j = 0; j < flat.rank(); ++j)
      if (can_fuse(flat, i, j)) {
        fuse(flat, i, j);
        return true;
      }
  return false;
}

bool can_vectorize(const Flat &flat, const Access &access, std::int64_t width) {
  if (access.element_bytes == 8 || access.offset % width != 0 || access.size % width != 0)
    return false;
  for (std::size_t i = 0; i < flat.rank(); ++i) {
    const std::int64_t stride = access.strides[i];
    const bool along = flat.accesses[0].strides[i] == 1;
    const bool fits =
        along ? stride == 0 || (stride == 1 && flat.ranges[i] % width == 0) : stride % width == 0;
    if (!fits)
      return false;
  }
  return true;
}

// Strides along the vectors stay 1: they count vectors.
void widen(Access &access, const std::vector<bool> &along, std::int64_t width) {
  bool touched = false;
  for (std::size_t i = 0; i < along.size(); ++i)
    touched |= along[i] && access.strides[i] == 1;
  if (!touched)
    return;
  access.vector = width;
  access.offset /= width;
  access.size /= width;
  for (std::size_t i = 0; i < along.size(); ++i)
    if (!along[i])
      access.strides[i] /= width;
}

} // namespace

std::int64_t power_of_two_from(std::int64_t x) {
  std::int64_t power = 1;
  while (power < x)
    power *= 2;
  return power;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Flat simplify(Flat flat) {
  if (!flat.limits.empty())
    return flat;
  while (fuse_any(flat)) {
  }
  return flat;
}

Flat vectorize(const Flat &flat, const Settings &settings) {
  std::vector<bool> along;
  for (const std::int64_t stride : flat.accesses[0].strides)
    along.push_back(stride == 1);
  if (!flat.limits.empty() || std::find(along.begin(), along.end(), true) == along.end())
    return flat;
  for (std::int64_t width = settings.vec_size; width > 1; width /= 2) {
    if (!all_accesses(flat, [&](const Access &a) { return can_vectorize(flat, a, width); }))
      continue;
    Flat wide = flat;
    for (std::size_t i = 0; i < along.size(); ++i)
      wide.ranges[i] /= along[i] ? width : 1;
    for_each_access(wide, [&](Access &access) { widen(access, along, width); });
    return wide;
  }
  return flat;
}

Flat prepare(const Flat &flat, const Settings &settings) {
  return vectorize(simplify(flat), settings);
}

} // namespace tilefuse::cost::plaidml
