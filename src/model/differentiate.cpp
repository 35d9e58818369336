// SPDX-License-Identifier: Apache-2.0
#include "model/differentiate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "model/passes.h"
#include "program/gradient/gradient.h"

namespace tilefuse::model {
namespace {

constexpr std::string_view kWeights = "weights";

using program::TensorId;

// The input or constant of that name.
TensorId find_leaf(const program::Program &program, const std::string &name) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].name == name && program.tensors[i].role != program::Role::Temporary)
      return TensorId{static_cast<int>(i)};
  std::vector<std::string> inputs;
  for (const TensorId id : program.inputs)
    inputs.push_back(program[id].name);
  throw Error(ErrorCode::Shape, fmt::format("gradient: there is no input or constant '{}'", name),
              {}, {fmt::format("its inputs are {}", fmt::join(inputs, ", "))});
}

std::vector<TensorId> weights(const program::Program &program) {
  std::vector<TensorId> found;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const program::Tensor &tensor = program.tensors[i];
    if (tensor.role == program::Role::Constant && is_float(tensor.type) && tensor.shape.size() > 1)
      found.push_back(TensorId{static_cast<int>(i)});
  }
  if (found.empty())
    throw Error(ErrorCode::Shape, "gradient: the program has no weights");
  return found;
}

std::vector<TensorId> floating_inputs(const program::Program &program) {
  std::vector<TensorId> found;
  for (const TensorId id : program.inputs)
    if (is_float(program[id].type))
      found.push_back(id);
  return found;
}

// What `names` differentiates by.
std::vector<TensorId> named(const program::Program &program, const std::string &names) {
  if (names == kWeights)
    return weights(program);
  if (names == "*")
    return floating_inputs(program);
  std::vector<TensorId> found;
  for (std::size_t from = 0; from <= names.size();) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    found.push_back(find_leaf(program, names.substr(from, comma - from)));
    from = comma + 1;
  }
  return found;
}

} // namespace

program::Program differentiate(const program::Program &program, const std::string &names,
                               PassContext *passes) {
  program::verify(program);
  const program::GradientRequest request{.by = named(program, names)};
  const auto gradient = [&](const program::Program &in) { return program::gradient(in, request); };
  return run_pass(kGradient, program, gradient, passes);
}

} // namespace tilefuse::model
