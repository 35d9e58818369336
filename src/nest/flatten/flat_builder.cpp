// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/flat_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/flatten/flat_statement.h"
#include "nest/index.h"

namespace tilefuse::nest {
namespace {

constexpr std::size_t kMaxName = 12;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A subscript of several indices: a window slides.
bool has_window(const Operand &operand) {
  return std::any_of(operand.dims.begin(), operand.dims.end(), [](const Dim &dim) {
    return std::count_if(dim.at.coeff.begin(), dim.at.coeff.end(),
                         [](std::int64_t value) { return value != 0; }) > 1;
  });
}

// A reduced index that is a subscript by itself, as input channels are.
bool has_reduced_dim(const Nest &nest, const Operand &operand) {
  return std::any_of(operand.dims.begin(), operand.dims.end(), [&](const Dim &dim) {
    const auto &coeff = dim.at.coeff;
    const auto outputs = static_cast<std::size_t>(nest.output_indices);
    const auto nonzero = [](std::int64_t value) { return value != 0; };
    return std::count_if(coeff.begin(), coeff.end(), nonzero) == 1 &&
           static_cast<std::size_t>(std::find_if(coeff.begin(), coeff.end(), nonzero) -
                                    coeff.begin()) >= outputs;
  });
}

std::string stem_of_products(const Nest &nest) {
  constexpr std::size_t kImageRank = 4;
  const auto outputs = static_cast<std::size_t>(nest.output_indices);
  if (outputs == nest.indices.size())
    return "mul";
  bool shared = false;
  for (std::size_t i = 0; i < outputs; ++i)
    shared |= moves(nest.inputs[0], i) && moves(nest.inputs[1], i);
  for (const Operand &input : nest.inputs)
    if (has_window(input))
      return shared && !has_reduced_dim(nest, input) ? "dwconv" : "conv";
  const bool image = nest.out.dims.size() >= kImageRank && nest.inputs[1].dims.size() >= kImageRank;
  return image && !shared ? "conv" : "matmul";
}

} // namespace

void FlatBuilder::add_index(const std::string &wanted, std::int64_t extent) {
  std::string base;
  for (char c : wanted.substr(0, kMaxName))
    base += is_letter(c) || is_digit(c) ? c : '_';
  if (base.empty() || !is_letter(base.front()) || base == "slot")
    base = "i" + base;
  std::string name = base;
  for (int suffix = 1; !names_.insert(name).second; ++suffix)
    name = fmt::format("{}_{}", base, suffix);
  flat_.nest.indices.push_back({std::move(name), extent});
}

Operand FlatBuilder::operand(program::TensorId tensor) {
  const program::Window &window = stored_.windows[at(tensor)];
  const program::Buffer &buffer = stored_.buffers[at(window.buffer)];
  const auto found = std::find(flat_.buffers.begin(), flat_.buffers.end(), window.buffer);
  Operand operand;
  operand.slot = static_cast<SlotId>(found - flat_.buffers.begin());
  operand.offset = window.offset;
  operand.constant = buffer.role == program::Role::Constant;
  if (found == flat_.buffers.end()) {
    flat_.buffers.push_back(window.buffer);
    flat_.nest.slots.push_back({buffer.type, buffer.elems});
  }
  return operand;
}

FlatStatement FlatBuilder::finish(const std::string &origin) {
  try {
    verify(flat_.nest);
  } catch (const Error &error) {
    throw Error(error.code(), error.message(), origin, error.notes());
  }
  return std::move(flat_);
}

std::string stem(const Nest &nest) {
  using program::Agg;
  const bool reduces = nest.indices.size() > static_cast<std::size_t>(nest.output_indices);
  const bool window = std::any_of(nest.inputs.begin(), nest.inputs.end(), has_window);
  if (nest.agg == Agg::Sum && nest.comb == program::Comb::Mul)
    return stem_of_products(nest);
  if (nest.comb == program::Comb::Pick)
    return "pick";
  if (program::compares(nest.comb))
    return nest.comb == program::Comb::Equal ? "equal" : "select";
  switch (nest.agg) {
  case Agg::Sum:
    return !reduces && nest.comb == program::Comb::None ? "copy" : (window ? "sumpool" : "sum");
  case Agg::Product:
    return "product";
  case Agg::Max:
    return window ? "maxpool" : "max";
  case Agg::Min:
    return window ? "minpool" : "min";
  case Agg::Assign:
    return nest.inputs.empty() ? "map" : (nest.comb == program::Comb::None ? "copy" : "combine");
  }
  internal_error("unknown aggregation", __FILE__, __LINE__);
}

} // namespace tilefuse::nest
