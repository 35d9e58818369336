// SPDX-License-Identifier: Apache-2.0
// What a model uses and we lack, collected so that one error names all of it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "onnx/reader.h"

namespace tilefuse::onnx_import {

class Lacking {
public:
  // Something that a node or tensor needs.
  void add(const std::string &what, const std::string &name) { reasons_[what].push_back(name); }
  // Why the import of one node was refused.
  void add(const Error &error) { errors_.push_back(error); }
  bool empty() const { return reasons_.empty() && errors_.empty(); }
  // Error{Unsupported} with a note per reason: the count and the names of what needs it. The error
  // of a node that alone was refused stays as it is.
  [[noreturn]] void refuse() const;

private:
  std::map<std::string, std::vector<std::string>> reasons_;
  std::vector<Error> errors_;
};

// Adds the element types of a model's inputs and initializers that we lack.
void check_tensors(const onnx::GraphProto &graph, Lacking &lacking);

// The nodes of a graph that need an operator, an attribute value or a result that we lack; adds
// what they need.
std::set<const onnx::NodeProto *> check_nodes(const ModelFile &file, const onnx::GraphProto &graph,
                                              Lacking &lacking);

} // namespace tilefuse::onnx_import
