// SPDX-License-Identifier: Apache-2.0
#include "launch/classes.h"

#include <algorithm>

#include "poly/group_buffers.h"

namespace tilefuse::launch {
namespace {

// Parts of one tensor, not neighbours in a concatenation.
bool has_window_of(const nest::Operand &a, const nest::Operand &b) {
  return a.offset == b.offset &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const nest::Dim &x, const nest::Dim &y) {
                      return x.size == y.size && x.stride == y.stride;
                    });
}

bool has_only_maps(const poly::Group &group) {
  return std::all_of(group.producers.begin(), group.producers.end(),
                     [](const poly::Producer &each) { return each.feed == poly::Feed::Map; });
}

bool reads_result_of(const poly::PlacedGroup &placed, const poly::PlacedGroup &writer) {
  const std::set<program::BufferId> read = poly::read_buffers(placed);
  return std::any_of(read.begin(), read.end(),
                     [&](program::BufferId buffer) { return poly::writes(writer, buffer); });
}

bool reads_own_result(const poly::PlacedGroup &placed) {
  return poly::read_buffers(placed).count(poly::written_buffer(placed)) > 0;
}

} // namespace

bool are_classes(const poly::PlacedGroup &a, const poly::PlacedGroup &b) {
  return a.statement >= 0 && a.statement == b.statement &&
         poly::written_buffer(a) == poly::written_buffer(b) &&
         has_window_of(a.group.anchor.out, b.group.anchor.out) && has_only_maps(a.group) &&
         has_only_maps(b.group) && !reads_own_result(a) && !reads_own_result(b) &&
         !reads_result_of(a, b) && !reads_result_of(b, a);
}

} // namespace tilefuse::launch
