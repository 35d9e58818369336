// SPDX-License-Identifier: Apache-2.0
#include "ort/partition.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

namespace tilefuse::ort {
namespace {

// Results of these have as many elements as data say.
constexpr std::string_view kDataSized[] = {"Compress",        "If",   "Loop",   "NonMaxSuppression",
                                           "NonZero",         "Scan", "Unique", "StringSplit",
                                           "SplitToSequence", "Range"};

bool is_open(const Tensor &tensor) {
  return !tensor.shape || std::any_of(tensor.shape->begin(), tensor.shape->end(),
                                      [](std::int64_t size) { return size < 0; });
}

// The node that makes each tensor.
std::map<std::string, std::size_t> makers(const Graph &graph) {
  std::map<std::string, std::size_t> makers;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (const std::string &name : graph.nodes[n].outputs)
      if (!name.empty())
        makers.emplace(name, n);
  return makers;
}

// Of each node, those before it that it reads from, also in its graphs.
std::vector<Group> predecessors(const Graph &graph) {
  const std::map<std::string, std::size_t> made = makers(graph);
  std::vector<Group> before(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (const auto *names : {&graph.nodes[n].inputs, &graph.nodes[n].implicit})
      for (const std::string &name : *names)
        if (const auto maker = made.find(name); maker != made.end())
          before[n].push_back(maker->second);
  return before;
}

// How often each path to a node goes from a taken node to one that is not, at most. Taken nodes of
// one level have no other node between them.
std::vector<int> levels(const std::vector<Group> &before, const std::vector<bool> &taken) {
  std::vector<int> level(before.size(), 0);
  for (std::size_t n = 0; n < before.size(); ++n)
    for (const std::size_t b : before[n])
      level[n] = std::max(level[n], level[b] + (taken[b] && !taken[n] ? 1 : 0));
  return level;
}

// The first of the set that a node is in.
std::size_t find(std::vector<std::size_t> &parent, std::size_t node) {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

bool is_data_sized(const Graph &graph, const Node &node) {
  if (std::find(std::begin(kDataSized), std::end(kDataSized), node.type) != std::end(kDataSized))
    return true;
  // Else the size of a result follows from those of the operands.
  return std::none_of(node.inputs.begin(), node.inputs.end(), [&](const std::string &name) {
    return !name.empty() && is_open(graph.tensors.at(name));
  });
}

} // namespace

std::vector<Group> groups(const Graph &graph, const std::vector<bool> &taken) {
  const std::vector<Group> before = predecessors(graph);
  const std::vector<int> level = levels(before, taken);
  std::vector<std::size_t> parent = whole(graph);
  for (std::size_t n = 0; n < before.size(); ++n)
    for (const std::size_t b : before[n])
      if (taken[n] && taken[b] && level[n] == level[b]) {
        const std::size_t first = find(parent, n);
        const std::size_t second = find(parent, b);
        parent[std::max(first, second)] = std::min(first, second);
      }
  std::map<std::size_t, Group> by_first;
  for (std::size_t n = 0; n < before.size(); ++n)
    if (taken[n])
      by_first[find(parent, n)].push_back(n);
  std::vector<Group> all;
  for (auto &[first, group] : by_first)
    all.push_back(std::move(group));
  return all;
}

std::vector<std::string> data_sized(const Graph &graph, const std::vector<bool> &left) {
  std::vector<std::string> why(graph.nodes.size());
  std::set<std::string> wild;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node &node = graph.nodes[n];
    for (const std::string &name : node.inputs)
      if (wild.contains(name))
        why[n] = "the size of what it reads depends on data";
    if (why[n].empty() && !(left[n] && is_data_sized(graph, node)))
      continue;
    for (const std::string &name : node.outputs)
      if (!name.empty() && is_open(graph.tensors.at(name)))
        wild.insert(name);
  }
  return why;
}

} // namespace tilefuse::ort
