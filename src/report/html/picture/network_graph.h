// SPDX-License-Identifier: Apache-2.0
// The launches of a model as a graph, top to bottom: a box for each, as wide as its share of the
// time wants, coloured by its share of the roofline; what flows between them; why nodes are one
// kernel or not. A launch stands a row below the lowest that it reads, in a row in the order of what
// they read (one pass of barycentres).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/session_stats.h"
#include "report/html/markup.h"
#include "report/page/dataflow.h"

namespace tilefuse::report::html {

struct GraphNode {
  const model::KernelReport &kernel;
  std::string notes; // what was decided about it
};

void network_graph(Markup &out, std::span<const GraphNode> nodes, std::span<const Flow> flows);

// Row of each of `count` launches, by the longest path to it.
std::vector<std::size_t> rows_of(std::size_t count, std::span<const Flow> flows);

} // namespace tilefuse::report::html
