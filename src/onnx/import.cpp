// SPDX-License-Identifier: Apache-2.0
#include "onnx/import.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "onnx/call.h"
#include "onnx/check.h"
#include "onnx/constants.h"
#include "onnx/graph.h"
#include "onnx/reader.h"
#include "onnx/shapes.h"
#include "onnx/table.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

std::set<std::string> define_initializers(const ModelFile &file, Graph &graph) {
  std::set<std::string> names;
  for (const auto &tensor : file.model.graph().initializer()) {
    names.insert(tensor.name());
    graph.define(tensor.name(), make_constant(to_host_tensor(tensor, file.folder)));
  }
  return names;
}

void define_inputs(const onnx::GraphProto &proto, const std::set<std::string> &initializers,
                   const Options &options, Graph &graph) {
  const auto shapes = bind_inputs(proto, initializers, options);
  for (const auto &info : proto.input()) {
    if (initializers.contains(info.name()))
      continue;
    const auto type = to_dtype(info.type().tensor_type().elem_type());
    graph.define(info.name(),
                 graph.add_input(info.name(), type.value_or(DType::F32), shapes.at(info.name())));
  }
}

void import_node(const onnx::NodeProto &node, const ModelFile &file, Graph &graph) {
  const Operator *row = find_operator(node.op_type(), file.opset);
  TILEFUSE_CHECK(row != nullptr, "an operator without a row passed the check");
  Call call(node, *row, file.opset, file.folder, graph);
  if (const auto folded = fold_integers(call))
    call.result(*folded);
  else
    row->import(call);
}

} // namespace

program::Program import_model(const std::string &path, const tile::Library &ops,
                              const Options &options) {
  const ModelFile file = read_model(path);
  check_supported(file);
  const onnx::GraphProto &proto = file.model.graph();
  Graph graph(ops, options.made_bytes);
  graph.program.name = proto.name();
  const std::set<std::string> initializers = define_initializers(file, graph);
  define_inputs(proto, initializers, options, graph);
  for (const auto &node : proto.node())
    import_node(node, file, graph);
  std::set<std::string> outputs;
  for (const auto &output : proto.output()) {
    if (!outputs.insert(output.name()).second)
      throw Error(ErrorCode::Io,
                  fmt::format("the model lists output {} twice", tilefuse::quoted(output.name())));
    graph.add_output(output.name());
  }
  program::verify(graph.program);
  return std::move(graph.program);
}

program::HostTensor read_tensor(const std::string &path) {
  return to_host_tensor(read_tensor_message(path), std::filesystem::path(path).parent_path());
}

} // namespace tilefuse::onnx_import
