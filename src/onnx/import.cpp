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
#include "onnx/export.h"
#include "onnx/fold_norms.h"
#include "onnx/fold_weights.h"
#include "onnx/fused_nodes.h"
#include "onnx/graph.h"
#include "onnx/inline.h"
#include "onnx/merged_parameters.h"
#include "onnx/nodes.h"
#include "onnx/quantize.h"
#include "onnx/quantized_nodes.h"
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
    result.symbols.push_back(symbol_of(dim));
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
  const auto first =
      std::find_if(proto.input().begin(), proto.input().end(),
                   [&](const auto &info) { return !with_values.contains(info.name()); });
  if (options.rebinds_batch && first != proto.input().end() && !shapes.at(first->name()).empty()) {
    graph.file_batch = std::max<std::int64_t>(declared(*first).dims.front(), 0);
    graph.batch = shapes.at(first->name()).front();
  }
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

const onnx::TensorProto *find_initializer(const onnx::GraphProto &proto, const std::string &name) {
  for (const auto &tensor : proto.initializer())
    if (tensor.name() == name)
      return &tensor;
  return nullptr;
}

// Initializers that the caller wants as inputs.
void define_parameters(const onnx::GraphProto &proto, const Options &options, Graph &graph) {
  for (const std::string &name : options.parameters) {
    const onnx::TensorProto *tensor = find_initializer(proto, name);
    const std::optional<DType> type = tensor ? to_dtype(tensor->data_type()) : std::nullopt;
    if (!type || !is_float(*type))
      throw Error(ErrorCode::Shape, fmt::format("the model has no initializer {} of a float type",
                                                tilefuse::quoted(name)));
    const program::Shape shape(tensor->dims().begin(), tensor->dims().end());
    graph.define(name, graph.add_parameter(name, *type, shape));
  }
}

void define_outputs(const onnx::GraphProto &proto, const Options &options, Graph &graph) {
  std::vector<std::string> names = options.outputs;
  for (int i = 0; options.outputs.empty() && i < proto.output_size(); ++i)
    names.push_back(proto.output(i).name());
  std::set<std::string> outputs;
  for (const std::string &name : names) {
    if (!outputs.insert(name).second)
      throw Error(ErrorCode::Io,
                  fmt::format("the model lists output {} twice", tilefuse::quoted(name)));
    graph.add_output(name);
  }
  for (const std::string &name : options.parameters)
    if (const Value *learned = graph.learned(name)) {
      graph.define("batch " + name, *learned);
      graph.add_output("batch " + name);
    }
  for (std::size_t i = 0; i < graph.lane_sums().size(); ++i) {
    const std::string name = fmt::format("lane sum {}", i);
    graph.define(name, graph.lane_sums()[i]);
    graph.add_output(name);
  }
}

// Inputs, constants and nodes; what is lacking is added to `lacking`. Another mistake of a model
// that lacks something is not looked at.
void build(const ModelFile &file, const Options &options, Graph &graph, Lacking &lacking) {
  const onnx::GraphProto &proto = file.model.graph();
  graph.uses_batch_statistics = options.uses_batch_statistics;
  graph.lanes = options.lanes;
  check_tensors(proto, lacking);
  NodeImporter nodes(file, graph, lacking);
  try {
    nodes.define_initializers(proto, {options.parameters.begin(), options.parameters.end()});
    define_inputs(proto, options, graph, nodes);
    define_parameters(proto, options, graph);
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
    define_outputs(file.model.graph(), options, graph);
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
  define_outputs(file.model.graph(), options, graph);
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
    expand_quantized_nodes(file.model);
    expand_fused_nodes(file.model);
    separate_merged_parameters(file);
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
Model::Model(std::shared_ptr<const Buffer> bytes, const std::string &folder)
    : state_(std::make_unique<State>(parse_model(std::move(bytes), folder))) {}
Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() = default;
Model::Model(Model &&) noexcept = default;
Model &Model::operator=(Model &&) noexcept = default;

const std::vector<Declared> &Model::inputs() const { return state_->inputs; }
const std::vector<Declared> &Model::outputs() const { return state_->outputs; }

std::vector<Parameter> Model::parameters() const {
  return onnx_import::parameters(state_->file.model.graph());
}

std::vector<Parameter> Model::left_as_they_are() const {
  return onnx_import::left_as_they_are(state_->file.model.graph());
}

Model Model::with_folded_weights(const tile::Library &ops) const {
  ModelFile file = state_->file;
  fold_weights(file, ops);
  fold_norms(file);
  return Model(std::make_unique<State>(std::move(file)));
}

RoundingPlan Model::plan_rounding(const std::set<std::string> &keep) const {
  return onnx_import::plan_rounding(state_->file.model, keep);
}

Model Model::quantized(const RoundingPlan &plan,
                       const std::map<std::string, program::Range> &ranges) const {
  ModelFile file = state_->file;
  quantize(file, plan, ranges);
  return Model(std::make_unique<State>(std::move(file)));
}

void Model::write(const std::string &path) const {
  const std::int64_t since = quantized_since(state_->file.model.graph());
  if (state_->file.opset < since)
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("a model of opset {} cannot hold its quantised operators, need {}",
                    state_->file.opset, since),
        path, {fmt::format("onnx.version_converter.convert_version(model, {}) raises it", since)});
  write_model(state_->file, path);
}

bool Model::is_quantized() const { return onnx_import::is_quantized(state_->file.model.graph()); }

program::HostTensor Model::parameter(const std::string &name) const {
  const onnx::TensorProto *tensor = find_initializer(state_->file.model.graph(), name);
  if (tensor == nullptr)
    throw Error(ErrorCode::Shape,
                fmt::format("the model has no initializer {}", tilefuse::quoted(name)));
  return to_host_tensor(state_->file, *tensor);
}

std::optional<std::span<const std::byte>> Model::parameter_in_place(const std::string &name) const {
  const onnx::TensorProto *tensor = find_initializer(state_->file.model.graph(), name);
  return tensor == nullptr ? std::nullopt : bytes_in_place(state_->file, *tensor);
}

std::string Model::logits() const { return logits_name(state_->file.model.graph()); }

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
