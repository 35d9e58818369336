// SPDX-License-Identifier: Apache-2.0
// Tensors without elements leave a program while it is made.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "onnx/graph.h"
#include "target/dtype_traits.h"

namespace tilefuse::onnx_import {
namespace {

using program::Agg;
using program::Contraction;
using program::Program;
using program::Statement;
using program::TensorId;

bool is_empty(const Program &program, TensorId id) {
  return program::elems(program[id].shape) == 0;
}

// What no element at all is aggregated to.
double aggregate_of_nothing(Agg agg, DType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (agg) {
  case Agg::Product:
    return 1;
  case Agg::Max:
    return is_float(type) ? -kInfinity : lowest(type);
  case Agg::Min:
    return is_float(type) ? kInfinity : highest(type);
  case Agg::Sum:
  case Agg::Assign:
    return 0;
  }
  return 0;
}

// The value that every element of the result has, where the statement reads no element or has none to make.
std::optional<double> value_of_nothing(const Program &program, const Statement &statement) {
  if (is_empty(program, statement.out))
    return 0;
  const auto *contraction = std::get_if<Contraction>(&statement.body);
  const auto reads_nothing = [&](const program::Access &access) {
    return is_empty(program, access.tensor);
  };
  if (!contraction || std::none_of(contraction->in.begin(), contraction->in.end(), reads_nothing))
    return std::nullopt;
  return aggregate_of_nothing(contraction->agg, program[statement.out].type);
}

} // namespace

void Graph::drop_empty(Program &from, std::size_t first) {
  const auto begin = from.statements.begin() + static_cast<std::ptrdiff_t>(first);
  auto kept = begin;
  for (auto next = begin; next != from.statements.end(); ++next) {
    const std::optional<double> value = value_of_nothing(from, *next);
    const auto *contraction = std::get_if<Contraction>(&next->body);
    if (value && contraction && contraction->init && !is_empty(from, next->out)) {
      const TensorId init = *contraction->init;
      next->body = program::View{init};
    } else if (value) {
      set_everywhere(from[next->out], *value, next->origin);
      continue;
    }
    if (kept != next)
      *kept = std::move(*next);
    ++kept;
  }
  from.statements.erase(kept, from.statements.end());
}

void Graph::set_everywhere(program::Tensor &tensor, double value, const std::string &origin) {
  program::HostTensor host = program::make_host_tensor({}, tensor.type, {});
  program::set(host, 0, value);
  const std::int64_t count = program::elems(tensor.shape);
  std::int64_t total = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(host.data.size()), &total) ||
      !reserve(total))
    throw Error(ErrorCode::Limit, "its result, of sums of nothing, is too large", origin);
  program::Bytes bytes;
  bytes.reserve(static_cast<std::size_t>(total));
  for (std::int64_t i = 0; i < count; ++i)
    bytes.insert(bytes.end(), host.data.begin(), host.data.end());
  tensor.role = program::Role::Constant;
  tensor.data = std::make_shared<const program::Bytes>(std::move(bytes));
}

} // namespace tilefuse::onnx_import
