// SPDX-License-Identifier: Apache-2.0
#include "onnx/nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "onnx/constants.h"
#include "onnx/inline.h"
#include "onnx/table.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {

void NodeImporter::define_initializers(const onnx::GraphProto &graph,
                                       const std::set<std::string> &inputs) {
  for (const auto &tensor : graph.initializer())
    if (inputs.contains(tensor.name()))
      continue;
    else if (to_dtype(tensor.data_type()))
      graph_.define(tensor.name(), make_constant(to_host_tensor(file_, tensor)));
    else
      unknown_.insert(tensor.name());
}

bool NodeImporter::reads_unknown(const onnx::NodeProto &node) const {
  return std::any_of(node.input().begin(), node.input().end(),
                     [&](const std::string &name) { return unknown_.contains(name); });
}

void NodeImporter::run(const onnx::GraphProto &graph) {
  const auto refused = check_nodes(file_, graph, lacking_);
  for (const auto &node : graph.node()) {
    bool is_known = !refused.contains(&node) && !reads_unknown(node);
    try {
      if (is_known)
        import_node(node);
    } catch (const Error &error) {
      if (!lacking_.takes(error))
        throw;
      lacking_.add(error, name_of(node));
      is_known = false;
    }
    if (!is_known)
      unknown_.insert(node.output().begin(), node.output().end());
  }
}

void NodeImporter::import_node(const onnx::NodeProto &node) {
  const Operator *row = find_operator(node.op_type(), file_.opset);
  TILEFUSE_CHECK(row != nullptr, "an operator without a row passed the check");
  Call call(node, *row, file_.opset, file_.folder, graph_);
  if (row->import == nullptr)
    import_branch(node, call);
  else if (const auto folded = fold_integers(call))
    call.result(*folded);
  else
    row->import(call);
}

void NodeImporter::import_branch(const onnx::NodeProto &node, const Call &call) {
  const bool condition = call.number(0, "condition") != 0;
  const std::string wanted = condition ? "then_branch" : "else_branch";
  for (const auto &attribute : node.attribute()) {
    if (attribute.name() != wanted)
      continue;
    const onnx::GraphProto branch = with_prefix(attribute.g(), call.origin() + "/");
    check_tensors(branch, lacking_);
    define_initializers(branch);
    run(branch);
    for (int i = 0; i < branch.output_size() && i < node.output_size(); ++i)
      if (unknown_.contains(branch.output(i).name()))
        unknown_.insert(node.output(i));
      else
        call.result(graph_.value(branch.output(i).name()), static_cast<std::size_t>(i));
    return;
  }
  call.fail(ErrorCode::Io, "it has no " + wanted);
}

} // namespace tilefuse::onnx_import
