// SPDX-License-Identifier: Apache-2.0
#include "onnx/shapes.h"

#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {

std::string symbol_of(const onnx::TensorShapeProto::Dimension &dim) {
  return dim.dim_param() == "?" ? "" : dim.dim_param();
}

namespace {

using onnx::TensorShapeProto;
using Symbols = std::map<std::string, std::int64_t>;

[[noreturn]] void fail(const std::string &input, const std::string &what,
                       const char *note = "bind it by its name (--dim height=320), with the batch "
                                          "size or with a whole shape for this input") {
  throw Error(ErrorCode::Shape, fmt::format("input {}: {}", tilefuse::quoted(input), what), {},
              {note});
}

std::string to_text(const TensorShapeProto &shape) {
  std::vector<std::string> dims;
  for (const auto &dim : shape.dim())
    dims.push_back(dim.dim_value() > 0      ? fmt::format("{}", dim.dim_value())
                   : symbol_of(dim).empty() ? "?"
                                            : symbol_of(dim));
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

// One input: its declared shape and what the user gave.
class Input {
public:
  Input(const onnx::ValueInfoProto &info, const Options &options)
      : name_(info.name()), has_shape_(info.type().tensor_type().has_shape()),
        declared_(info.type().tensor_type().shape()), batch_(options.batch),
        rebinds_batch_(options.rebinds_batch) {
    const auto found = options.input_shapes.find(name_);
    if (found == options.input_shapes.end())
      return;
    given_ = found->second;
    for (const std::int64_t dim : *given_)
      if (dim < 0)
        fail(name_, fmt::format("the given shape [{}] holds {}; need at least 0",
                                fmt::join(*given_, ", "), dim));
    if (has_shape_ && given_->size() != static_cast<std::size_t>(declared_.dim_size()))
      fail(name_,
           fmt::format("got shape [{}], need {}", fmt::join(*given_, ", "), to_text(declared_)));
  }

  // What this input says about its symbols.
  void collect(Symbols &symbols) const {
    if (!has_shape_)
      return;
    for (int i = 0; i < declared_.dim_size(); ++i) {
      const auto &dim = declared_.dim(i);
      const auto value = symbol_of(dim).empty() ? std::nullopt : given_or_batch(i);
      if (!value || dim.dim_value() > 0)
        continue;
      const auto [at, is_new] = symbols.emplace(symbol_of(dim), *value);
      if (!is_new && at->second != *value)
        fail(name_, fmt::format("dimension {} ({}) is {} here and {} elsewhere", i,
                                tilefuse::quoted(symbol_of(dim)), *value, at->second));
    }
  }

  program::Shape bind(const Symbols &symbols) const {
    if (!has_shape_ && given_)
      return *given_;
    if (!has_shape_)
      fail(name_, "the model does not say its shape");
    program::Shape shape;
    for (int i = 0; i < declared_.dim_size(); ++i)
      shape.push_back(bind_dim(i, symbols));
    return shape;
  }

private:
  std::optional<std::int64_t> given_or_batch(int i) const {
    if (given_)
      return (*given_)[at(i)];
    return i == 0 ? batch_ : std::nullopt;
  }

  std::int64_t bind_dim(int i, const Symbols &symbols) const {
    const auto &dim = declared_.dim(i);
    const auto wanted = given_or_batch(i);
    if (dim.dim_value() > 0 && !(rebinds_batch_ && i == 0 && wanted)) {
      if (wanted && *wanted != dim.dim_value())
        fail(name_,
             fmt::format("dimension {} is {} in the model; got {}", i, dim.dim_value(), *wanted),
             "only dimensions that the model leaves open can be bound: export it with a dynamic "
             "axis, or "
             "give pictures and tensors one by one");
      return dim.dim_value();
    }
    if (wanted)
      return *wanted;
    const auto known = symbols.find(symbol_of(dim));
    if (!symbol_of(dim).empty() && known != symbols.end())
      return known->second;
    if (i > 0)
      fail(name_, fmt::format("dimension {} of {} is unknown", i, to_text(declared_)));
    return 1;
  }

  std::string name_;
  bool has_shape_;
  const TensorShapeProto &declared_;
  std::optional<std::int64_t> batch_;
  bool rebinds_batch_;
  std::optional<program::Shape> given_;
};

// Symbols that the caller binds by name; each is one of some input.
Symbols named_dims(const onnx::GraphProto &graph, const Options &options) {
  std::set<std::string> known;
  for (const auto &info : graph.input())
    for (const auto &dim : info.type().tensor_type().shape().dim())
      if (dim.dim_value() <= 0 && !symbol_of(dim).empty())
        known.insert(symbol_of(dim));
  for (const auto &[name, size] : options.dims) {
    if (!known.contains(name))
      throw Error(ErrorCode::Shape,
                  fmt::format("no input has a dimension {}", tilefuse::quoted(name)), {},
                  {known.empty() ? "every size of this model is fixed"
                                 : fmt::format("those left open are {}", fmt::join(known, ", "))});
    if (size < 1)
      throw Error(ErrorCode::Shape,
                  fmt::format("dimension {} is {}; need at least 1", tilefuse::quoted(name), size));
  }
  return {options.dims.begin(), options.dims.end()};
}

void check_given_names(const Options &options, const std::vector<std::string> &names) {
  for (const auto &[given, shape] : options.input_shapes) {
    bool found = false;
    for (const std::string &name : names)
      found = found || name == given;
    if (!found)
      throw Error(ErrorCode::Shape, fmt::format("a shape is given for {}, but the inputs are {}",
                                                tilefuse::quoted(given), fmt::join(names, ", ")));
  }
}

} // namespace

std::map<std::string, program::Shape> bind_inputs(const onnx::GraphProto &graph,
                                                  const std::set<std::string> &initializers,
                                                  const Options &options) {
  if (options.batch && *options.batch < 1)
    throw Error(ErrorCode::Shape,
                fmt::format("the batch size is {}; need at least 1", *options.batch));
  std::vector<std::string> names;
  std::vector<Input> inputs;
  for (const auto &info : graph.input()) {
    if (initializers.contains(info.name()))
      continue;
    names.push_back(info.name());
    inputs.emplace_back(info, options);
  }
  check_given_names(options, names);
  Symbols symbols = named_dims(graph, options);
  for (const Input &input : inputs)
    input.collect(symbols);
  std::map<std::string, program::Shape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes[names[i]] = inputs[i].bind(symbols);
    elems_of(shapes[names[i]], "input " + tilefuse::quoted(names[i]));
  }
  return shapes;
}

} // namespace tilefuse::onnx_import
