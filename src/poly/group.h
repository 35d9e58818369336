// SPDX-License-Identifier: Apache-2.0
// The `group` level: nests that will be one kernel. Today a group is an anchor nest with its
// pointwise consumers fused into the post-ops; staged producers join it as extensions of the
// schedule tree.
//
//   group
//   anchor nest conv { … }
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"
#include "program/storage.h"

namespace tilefuse::poly {

struct Group {
  nest::Nest anchor;
  friend bool operator==(const Group &, const Group &) = default;
};

// A group in its place in a network: which buffer each slot of the anchor is bound to.
struct PlacedGroup {
  Group group;
  std::vector<program::BufferId> buffers; // by slot
  std::string origin;                     // statements it came from, "Conv conv1 + Relu relu1"
  std::vector<std::string> notes;         // fusions refused, with the reason
};

// Flattens every statement and fuses each map into the contraction or map that feeds it, into each
// of its pieces, when it is the only reader of that result and has its shape. Groups come in an
// order in which they can run.
std::vector<PlacedGroup> make_groups(const program::StoredProgram &stored);

void verify(const Group &group);
std::string to_text(const Group &group);
Group parse_group(std::string_view text, const std::string &file = "<group>");

} // namespace tilefuse::poly
