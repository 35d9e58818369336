// SPDX-License-Identifier: Apache-2.0
// What a model uses and we lack, collected so that one error names all of it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "onnx/gap.h"
#include "onnx/reader.h"

namespace tilefuse::onnx_import {

class Lacking {
public:
  // `of_any_kind`: every error of a node is one to be added, not only Error{Unsupported}.
  explicit Lacking(bool of_any_kind = false) : of_any_kind_(of_any_kind) {}
  // Something that a node or tensor of this name needs.
  void add(const std::string &what, const std::string &name);
  // Why the import of the node of this name was refused.
  void add(const Error &error, const std::string &name);
  bool takes(const Error &error) const {
    return of_any_kind_ || error.code() == ErrorCode::Unsupported;
  }
  bool empty() const { return gaps_.empty(); }
  // One for each call of add(), in their order.
  const std::vector<Gap> &gaps() const { return gaps_; }
  // Error{Unsupported} with a note per reason: the count and the names of what needs it. The error
  // of a node that alone was refused stays as it is.
  [[noreturn]] void refuse() const;

private:
  bool of_any_kind_;
  std::vector<Gap> gaps_;
  std::map<std::string, std::vector<std::string>> reasons_;
  std::vector<Error> errors_;
};

// The name of a node, or of its first result where it has none.
const std::string &name_of(const onnx::NodeProto &node);

// Names that nodes read, also those of inner graphs, or that are results.
void add_used_names(const onnx::GraphProto &graph, std::set<std::string> &used);

// Adds the element types of a model's inputs and initializers that we lack.
void check_tensors(const onnx::GraphProto &graph, Lacking &lacking);

// The nodes of a graph that need an operator, an attribute value or a result that we lack; adds
// what they need.
std::set<const onnx::NodeProto *> check_nodes(const ModelFile &file, const onnx::GraphProto &graph,
                                              Lacking &lacking);

} // namespace tilefuse::onnx_import
