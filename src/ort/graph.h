// SPDX-License-Identifier: Apache-2.0
// A graph of onnxruntime as values: tensors by name, nodes in an order in which they can be
// computed. Handles inside are onnxruntime's and live as long as its graph: no longer than the call
// that gave it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ort/ort_api.h"

namespace tilefuse::ort {

using Shape = std::vector<std::int64_t>; // -1: open

struct Tensor {
  int type = 0;                       // as ONNX numbers element types; 0: no tensor
  std::optional<Shape> shape;         // none: of unknown rank
  const c::Value *constant = nullptr; // of an initializer that never changes
};

struct Node {
  const c::Node *handle = nullptr;
  std::string name; // unique in its graph
  std::string type; // "Conv"
  std::string domain;
  std::vector<std::string> inputs;   // "" where one is left out
  std::vector<std::string> outputs;  // the same
  std::vector<std::string> implicit; // what graphs inside read
  bool has_graphs = false;
};

struct Graph {
  std::int64_t ir_version = 0;
  std::vector<std::pair<std::string, std::int64_t>> opsets; // by domain
  std::map<std::string, Tensor> tensors;                    // all that nodes read or make
  std::vector<Node> nodes;
  std::vector<std::string> outputs;
};

Graph read_graph(const c::Graph *graph);

// The names of all inputs or outputs, "" where one is left out.
std::vector<std::string> input_names(const c::Node *node);
std::vector<std::string> output_names(const c::Node *node);

// Positions of nodes in a graph, ascending.
using Group = std::vector<std::size_t>;

// What a group reads and does not make, constants apart, and what of its results is read outside;
// both in the order of nodes.
struct Border {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};
Border border(const Graph &graph, const Group &group);

// All nodes of a graph.
Group whole(const Graph &graph);

} // namespace tilefuse::ort
