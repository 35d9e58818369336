// SPDX-License-Identifier: Apache-2.0
#include "ort/partition.h"

#include <gtest/gtest.h>

namespace tilefuse::ort {
namespace {

// Nodes "a: x y -> z" with tensors of one element; `?` after a name: of an open size.
Node node(Graph &graph, const std::string &type, std::vector<std::string> inputs,
          std::vector<std::string> outputs) {
  for (auto *names : {&inputs, &outputs})
    for (std::string &name : *names) {
      const bool is_open = name.ends_with('?');
      if (is_open)
        name.pop_back();
      graph.tensors.emplace(name, Tensor{1, Shape{is_open ? -1 : 1}, nullptr});
    }
  return {.name = type, .type = type, .inputs = std::move(inputs), .outputs = std::move(outputs)};
}

class Partition : public testing::Test {
protected:
  void add(const std::string &type, std::vector<std::string> inputs,
           std::vector<std::string> outputs) {
    graph.nodes.push_back(node(graph, type, std::move(inputs), std::move(outputs)));
  }

  Graph graph;
};

TEST_F(Partition, ALeftNodeParts) {
  add("A", {"x"}, {"a"});
  add("Left", {"a"}, {"l"});
  add("B", {"a", "l"}, {"b"});
  EXPECT_EQ(groups(graph, {true, false, true}), (std::vector<Group>{{0}, {2}}));
}

TEST_F(Partition, WhatALeftNodeDoesNotReadStaysTogether) {
  add("Left", {"x"}, {"l"});
  add("A", {"x"}, {"a"});
  add("B", {"a", "l"}, {"b"});
  EXPECT_EQ(groups(graph, {false, true, true}), (std::vector<Group>{{1, 2}}));
}

TEST_F(Partition, NoPathLeavesAGroup) {
  add("A", {"x"}, {"a"});
  add("B", {"a"}, {"b"});
  add("Left", {"a"}, {"l"});
  add("C", {"b"}, {"c"});
  add("D", {"c", "l"}, {"d"});
  EXPECT_EQ(groups(graph, {true, true, false, true, true}), (std::vector<Group>{{0, 1, 3}, {4}}));
}

TEST_F(Partition, GroupsHangTogether) {
  add("A", {"x"}, {"a"});
  add("B", {"y"}, {"b"});
  EXPECT_EQ(groups(graph, {true, true}), (std::vector<Group>{{0}, {1}}));
}

TEST_F(Partition, GraphsInsideOfNodesRead) {
  add("A", {"x"}, {"a"});
  add("Loop", {}, {"l"});
  graph.nodes[1].implicit = {"a"};
  add("B", {"a", "l"}, {"b"});
  EXPECT_EQ(groups(graph, {true, false, true}), (std::vector<Group>{{0}, {2}}));
}

TEST_F(Partition, TheBorderOfAGroup) {
  add("A", {"x", "w"}, {"a"});
  add("B", {"a", "", "y"}, {"b", "c"});
  add("Left", {"a", "c"}, {"l"});
  graph.tensors.at("w").constant = reinterpret_cast<const c::Value *>(&graph);
  graph.outputs = {"l"};
  const Border edge = border(graph, {0, 1});
  EXPECT_EQ(edge.inputs, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(edge.outputs, (std::vector<std::string>{"a", "c"}));
}

TEST_F(Partition, SizesThatDependOnData) {
  add("NonMaxSuppression", {"x"}, {"n?"});
  add("Gather", {"n?"}, {"g?"});
  add("ReduceSum", {"g?"}, {"r"});
  add("Relu", {"r"}, {"s"});
  const std::vector<std::string> why = data_sized(graph, {true, false, false, false});
  EXPECT_EQ(why[0], "");
  EXPECT_NE(why[1], "");
  EXPECT_NE(why[2], "");
  EXPECT_EQ(why[3], "") << "a sum has the size that it has";
}

TEST_F(Partition, SizesThatFollowFromInputs) {
  add("Unknown", {"x?"}, {"u?"});
  add("Relu", {"u?"}, {"r?"});
  EXPECT_EQ(data_sized(graph, {true, false}), (std::vector<std::string>{"", ""}));
}

} // namespace
} // namespace tilefuse::ort
