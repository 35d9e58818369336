// SPDX-License-Identifier: Apache-2.0
#include "onnx/import.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/scanner.h"
#include "onnx/check.h"
#include "onnx/constants.h"
#include "onnx/graph.h"
#include "onnx/inline.h"
#include "onnx/nodes.h"
#include "onnx/reader.h"
#include "onnx/shapes.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

std::set<std::string> initializer_names(const onnx::GraphProto &proto) {
  std::set<std::string> names;
  for (const auto &tensor : proto.initializer())
    names.insert(tensor.name());
  return names;
}

// An input that the caller gives values for. One open dimension takes as many as there are.
Value fixed_input(const Declared &input, const std::vector<std::int64_t> &values) {
  program::Shape shape;
  for (const std::int64_t dim : input.dims)
    shape.push_back(dim > 0 ? dim : static_cast<std::int64_t>(values.size()));
  if (input.type != DType::I32 && input.type != DType::I64)
    throw Error(ErrorCode::Type,
                fmt::format("input {} is {}; values are for 32- and 64-bit integers",
                            tilefuse::quoted(input.name), to_string(input.type)));
  if (program::elems(shape) != static_cast<std::int64_t>(values.size()))
    throw Error(ErrorCode::Shape,
                fmt::format("input {} is [{}]; got {} values", tilefuse::quoted(input.name),
                            fmt::join(shape, ", "), values.size()));
  Value value = integer_constant(input.type, shape, values);
  value.name = input.name;
  return value;
}

Declared declared(const onnx::ValueInfoProto &info) {
  const auto &tensor = info.type().tensor_type();
  Declared result{.name = info.name(),
                  .type = to_dtype(tensor.elem_type()).value_or(DType::F32),
                  .dims = {},
                  .symbols = {}};
  for (const auto &dim : tensor.shape().dim()) {
    result.dims.push_back(dim.dim_value() > 0 ? dim.dim_value() : -1);
    result.symbols.push_back(dim.dim_param());
  }
  result.is_shaped = tensor.has_shape();
  return result;
}

// The names of inputs that have values by now: the file's own in `known`, and the caller's.
std::set<std::string> define_values(const onnx::GraphProto &proto, std::set<std::string> known,
                                    const Options &options, Graph &graph) {
  for (const auto &[name, values] : options.input_values) {
    const auto named = [&](const auto &info) { return info.name() == name; };
    const auto found = std::find_if(proto.input().begin(), proto.input().end(), named);
    if (found == proto.input().end() || known.contains(name))
      throw Error(ErrorCode::Shape, fmt::format("values are given for {}, which is no input",
                                                tilefuse::quoted(name)));
    graph.define(name, fixed_input(declared(*found), values));
    known.insert(name);
  }
  return known;
}

void define_inputs(const onnx::GraphProto &proto, const Options &options, Graph &graph,
                   NodeImporter &nodes) {
  const std::set<std::string> with_values =
      define_values(proto, initializer_names(proto), options, graph);
  const auto shapes = bind_inputs(proto, with_values, options);
  for (const auto &info : proto.input()) {
    if (with_values.contains(info.name()))
      continue;
    const auto type = to_dtype(info.type().tensor_type().elem_type());
    if (type)
      graph.define(info.name(), graph.add_input(info.name(), *type, shapes.at(info.name())));
    else
      nodes.add_unknown(info.name());
  }
}

void define_outputs(const onnx::GraphProto &proto, Graph &graph) {
  std::set<std::string> outputs;
  for (const auto &output : proto.output()) {
    if (!outputs.insert(output.name()).second)
      throw Error(ErrorCode::Io,
                  fmt::format("the model lists output {} twice", tilefuse::quoted(output.name())));
    graph.add_output(output.name());
  }
}

// Inputs, constants and nodes; what is lacking is added to `lacking`. Another mistake of a model
// that lacks something is not looked at.
void build(const ModelFile &file, const Options &options, Graph &graph, Lacking &lacking) {
  const onnx::GraphProto &proto = file.model.graph();
  check_tensors(proto, lacking);
  NodeImporter nodes(file, graph, lacking);
  try {
    nodes.define_initializers(proto);
    define_inputs(proto, options, graph, nodes);
    nodes.run(proto);
  } catch (const Error &) {
    if (lacking.empty())
      throw;
  }
}

std::vector<Gap> gaps_of(const ModelFile &file, const tile::Library &ops, const Options &options) {
  Graph graph(ops, options.made_bytes);
  Lacking lacking(true);
  build(file, options, graph, lacking);
  if (lacking.empty()) {
    define_outputs(file.model.graph(), graph);
    program::verify(graph.program);
  }
  return lacking.gaps();
}

program::Program import_file(const ModelFile &file, const tile::Library &ops,
                             const Options &options) {
  Graph graph(ops, options.made_bytes);
  graph.program.name = file.model.graph().name();
  Lacking lacking;
  build(file, options, graph, lacking);
  if (!lacking.empty())
    lacking.refuse();
  define_outputs(file.model.graph(), graph);
  program::verify(graph.program);
  return std::move(graph.program);
}

} // namespace

struct Model::State {
  ModelFile file;
  std::vector<Declared> inputs;
  std::vector<Declared> outputs;

  explicit State(ModelFile given) : file(std::move(given)) {
    inline_functions(file.model);
    const onnx::GraphProto &proto = file.model.graph();
    const std::set<std::string> known = initializer_names(proto);
    for (const auto &info : proto.input())
      if (!known.contains(info.name()))
        inputs.push_back(declared(info));
    for (const auto &info : proto.output())
      outputs.push_back(declared(info));
  }
};

Model::Model(const std::string &path) : state_(std::make_unique<State>(read_model(path))) {}
Model::Model(std::string_view bytes, const std::string &folder)
    : state_(std::make_unique<State>(parse_model(bytes, folder))) {}
Model::~Model() = default;
Model::Model(Model &&) noexcept = default;
Model &Model::operator=(Model &&) noexcept = default;

const std::vector<Declared> &Model::inputs() const { return state_->inputs; }
const std::vector<Declared> &Model::outputs() const { return state_->outputs; }

program::Program Model::program(const tile::Library &ops, const Options &options) const {
  return import_file(state_->file, ops, options);
}

std::vector<Gap> Model::gaps(const tile::Library &ops, const Options &options) const {
  return gaps_of(state_->file, ops, options);
}

program::Program import_model(const std::string &path, const tile::Library &ops,
                              const Options &options) {
  return Model(path).program(ops, options);
}

program::HostTensor read_tensor(const std::string &path) {
  return to_host_tensor(read_tensor_message(path), std::filesystem::path(path).parent_path());
}

} // namespace tilefuse::onnx_import
