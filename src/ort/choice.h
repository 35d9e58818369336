// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph are taken and which are left, and why. The library is asked: a group of
// nodes is given to it as a model, and the nodes that it cannot take go, until nothing is refused.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ort/graph.h"

namespace tilefuse::ort {

struct Choice {
  std::vector<Group> groups;    // each becomes one node
  std::vector<std::string> why; // by node: why it is left; "" where it is taken
};

// Groups of fewer than `least_nodes` nodes are left, unless there is a contraction or a pool among
// them.
Choice choose(const Graph &graph, std::size_t least_nodes);

// "66 of 70 nodes in 1 group: Conv 20, Relu 18, …"
std::string summary(const Graph &graph, const Choice &choice);
// The names of a group's nodes.
std::string names(const Graph &graph, const Group &group);
// "4 nodes: operator 'Loop' of opset 13: 1 (loop_3); …", each reason with the first nodes it is of;
// "" where none is left.
std::string left(const Graph &graph, const Choice &choice);

} // namespace tilefuse::ort
