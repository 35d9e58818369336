// SPDX-License-Identifier: Apache-2.0
// Names for what is added to a graph: those that it has already, at any depth, are not given again.
//
//   FreeNames names(graph);
//   names.take("x/scale")    "x/scale", or "x/scale_1" where the graph has one of this name
#pragma once

#include <set>
#include <string>

#include "onnx.pb.h"

namespace tilefuse::onnx_import {

class FreeNames {
public:
  explicit FreeNames(const onnx::GraphProto &graph) { add(graph); }
  // `wanted`, with a number behind it where that is taken.
  std::string take(const std::string &wanted);

private:
  void add(const onnx::GraphProto &graph);

  std::set<std::string> taken_;
};

} // namespace tilefuse::onnx_import
