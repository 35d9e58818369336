// SPDX-License-Identifier: Apache-2.0
// Which nodes become one: groups of taken nodes that hang together and are convex, that is, no path
// between two of a group leaves it.
#pragma once

#include <string>
#include <vector>

#include "ort/graph.h"

namespace tilefuse::ort {

// Groups of the nodes for which `taken` is true, in the order of their first nodes. Each is as large
// as the nodes that are not taken let it be: paths through taken nodes alone never cross groups.
std::vector<Group> groups(const Graph &graph, const std::vector<bool> &taken);

// Of each node that reads a tensor whose size depends on data, why it cannot be taken; else "". Such
// a size is an open one of a result of a left node that makes as much as its data say, or of what
// is computed of that. `left` are the nodes that are left already.
std::vector<std::string> data_sized(const Graph &graph, const std::vector<bool> &left);

} // namespace tilefuse::ort
