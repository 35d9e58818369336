// SPDX-License-Identifier: Apache-2.0
// The nodes of a graph, one after the other, into the program under construction. A node that is
// refused, or reads what a refused one makes, is passed over, so that all reasons are found. An If
// whose condition is known is the nodes of its branch.
#pragma once

#include <set>
#include <string>

#include "onnx/call.h"
#include "onnx/check.h"
#include "onnx/reader.h"

namespace tilefuse::onnx_import {

class NodeImporter {
public:
  // All are borrowed.
  NodeImporter(const ModelFile &file, Graph &graph, Lacking &lacking)
      : file_(file), graph_(graph), lacking_(lacking) {}

  // Defines the initializers of a graph, less those in `inputs`; those of element types that we lack
  // stay unknown.
  void define_initializers(const onnx::GraphProto &graph, const std::set<std::string> &inputs = {});
  // Imports the nodes of a graph.
  void run(const onnx::GraphProto &graph);
  // A tensor that is never defined, since it is not supported.
  void add_unknown(const std::string &name) { unknown_.insert(name); }

private:
  void import_node(const onnx::NodeProto &node);
  void import_branch(const onnx::NodeProto &node, const Call &call);
  bool reads_unknown(const onnx::NodeProto &node) const;

  const ModelFile &file_;
  Graph &graph_;
  Lacking &lacking_;
  std::set<std::string> unknown_;
};

} // namespace tilefuse::onnx_import
