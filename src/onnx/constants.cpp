// SPDX-License-Identifier: Apache-2.0
#include "onnx/constants.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "base/index.h"
#include "onnx/operators/ops_slice.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::int64_t kLargestFolded = 4096; // elements

struct Small {
  DType type = DType::I64;
  program::Shape shape;
  Ints values;
};

bool is_small_integer(const Value &value) {
  return value.is_constant() &&
         (value.type == DType::I64 || value.type == DType::I32 || value.type == DType::Bool) &&
         program::elems(value.shape) <= kLargestFolded;
}

Small to_small(const Value &value) {
  Small small{value.type, value.shape, Ints(static_cast<std::size_t>(program::elems(value.shape)))};
  for (std::size_t i = 0; i < small.values.size(); ++i) {
    const std::byte *at = value.data->data() + i * static_cast<std::size_t>(size_bytes(value.type));
    if (value.type == DType::I64) {
      std::memcpy(&small.values[i], at, sizeof(std::int64_t));
    } else {
      small.values[i] = static_cast<std::int64_t>(load_element(at, value.type, 0));
    }
  }
  return small;
}

// Calls `visit` with the position in row-major order and the index tuple of every element of a
// shape.
void for_each_index(const program::Shape &shape,
                    const std::function<void(std::size_t, const Ints &)> &visit) {
  Ints index(shape.size(), 0);
  const std::int64_t count = program::elems(shape);
  for (std::int64_t at = 0; at < count; ++at) {
    visit(static_cast<std::size_t>(at), index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

// The element of a tensor at an index tuple; its dimensions are right-aligned with the tuple's and
// 1 repeats.
std::int64_t element(const Small &small, const Ints &index) {
  std::int64_t at = 0;
  const std::size_t shift = index.size() - small.shape.size();
  for (std::size_t d = 0; d < small.shape.size(); ++d)
    at = at * small.shape[d] + (small.shape[d] == 1 ? 0 : index[shift + d]);
  return small.values[static_cast<std::size_t>(at)];
}

program::Shape broadcast_shapes(const Call &call, const std::vector<Small> &operands) {
  program::Shape shape;
  for (const Small &operand : operands)
    if (operand.shape.size() > shape.size())
      shape.insert(shape.begin(), operand.shape.size() - shape.size(), 1);
  for (const Small &operand : operands) {
    const std::size_t shift = shape.size() - operand.shape.size();
    for (std::size_t d = 0; d < operand.shape.size(); ++d) {
      std::int64_t &dim = shape[shift + d];
      if (dim == 1)
        dim = operand.shape[d];
      if (dim != operand.shape[d] && operand.shape[d] != 1)
        call.fail(ErrorCode::Shape, "its operands do not broadcast");
    }
  }
  return shape;
}

std::int64_t checked(const Call &call, bool overflowed, std::int64_t value) {
  if (overflowed)
    call.fail(ErrorCode::Limit, "its shape arithmetic overflows");
  return value;
}

using Operation = std::int64_t (*)(const Call &call, const Ints &args);

std::int64_t divide(const Call &call, const Ints &args) {
  if (args[1] == 0)
    call.fail(ErrorCode::Shape, "its shape arithmetic divides by 0");
  return checked(call, args[1] == -1 && args[0] == std::numeric_limits<std::int64_t>::min(), 0) +
         (args[1] == -1 ? -args[0] : args[0] / args[1]);
}

struct Elementwise {
  std::string_view type;
  std::size_t arity;
  bool is_comparison;
  Operation apply;
};

constexpr Elementwise kElementwise[] = {
    {"Add", 2, false,
     [](const Call &call, const Ints &a) {
       std::int64_t r = 0;
       const bool overflowed = __builtin_add_overflow(a[0], a[1], &r);
       return checked(call, overflowed, r);
     }},
    {"Sub", 2, false,
     [](const Call &call, const Ints &a) {
       std::int64_t r = 0;
       const bool overflowed = __builtin_sub_overflow(a[0], a[1], &r);
       return checked(call, overflowed, r);
     }},
    {"Mul", 2, false,
     [](const Call &call, const Ints &a) {
       std::int64_t r = 0;
       const bool overflowed = __builtin_mul_overflow(a[0], a[1], &r);
       return checked(call, overflowed, r);
     }},
    {"Neg", 1, false,
     [](const Call &call, const Ints &a) {
       std::int64_t r = 0;
       const bool overflowed = __builtin_sub_overflow(std::int64_t{0}, a[0], &r);
       return checked(call, overflowed, r);
     }},
    {"Div", 2, false, divide},
    {"Max", 2, false, [](const Call &, const Ints &a) { return std::max(a[0], a[1]); }},
    {"Min", 2, false, [](const Call &, const Ints &a) { return std::min(a[0], a[1]); }},
    {"Equal", 2, true, [](const Call &, const Ints &a) { return std::int64_t{a[0] == a[1]}; }},
    {"Greater", 2, true, [](const Call &, const Ints &a) { return std::int64_t{a[0] > a[1]}; }},
    {"Less", 2, true, [](const Call &, const Ints &a) { return std::int64_t{a[0] < a[1]}; }},
    {"Where", 3, false, [](const Call &, const Ints &a) { return a[0] != 0 ? a[1] : a[2]; }},
};

std::optional<Small> fold_elementwise(const Call &call, const Elementwise &row,
                                      const std::vector<Small> &operands) {
  Small result{
      row.is_comparison ? DType::Bool : operands.back().type, broadcast_shapes(call, operands), {}};
  if (call.elems(result.shape) > kLargestFolded)
    return std::nullopt;
  for_each_index(result.shape, [&](std::size_t, const Ints &index) {
    Ints args;
    for (const Small &operand : operands)
      args.push_back(element(operand, index));
    result.values.push_back(row.apply(call, args));
  });
  return result;
}

Small fold_concat(const Call &call, const std::vector<Small> &operands) {
  const std::size_t axis = call.axis("axis", 1, operands.front().shape.size());
  Small result{operands.front().type, operands.front().shape, {}};
  result.shape[axis] = 0;
  for (const Small &operand : operands) {
    program::Shape shape = operand.shape;
    if (shape.size() == result.shape.size())
      shape[axis] = operands.front().shape[axis];
    if (shape != operands.front().shape || operand.type != result.type)
      call.fail(ErrorCode::Shape,
                fmt::format("cannot put {} and {} together", to_text(operands.front().shape),
                            to_text(operand.shape)));
    result.shape[axis] += operand.shape[axis];
  }
  const std::int64_t outer = elems_between(result.shape, 0, axis);
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Small &operand : operands) {
      const std::int64_t row = elems_between(operand.shape, axis, operand.shape.size());
      result.values.insert(result.values.end(), operand.values.begin() + o * row,
                           operand.values.begin() + (o + 1) * row);
    }
  return result;
}

Small fold_slice(const Call &call, const Small &data) {
  const std::vector<SliceAxis> axes = slice_axes(call);
  Small result{data.type, {}, {}};
  for (const SliceAxis &axis : axes)
    result.shape.push_back(axis.count);
  for_each_index(result.shape, [&](std::size_t, const Ints &index) {
    Ints from = index;
    for (std::size_t d = 0; d < from.size(); ++d)
      from[d] = axes[d].start + axes[d].step * index[d];
    result.values.push_back(element(data, from));
  });
  return result;
}

std::optional<Value> fold_cast(const Call &call, const Small &data) {
  const auto type = to_dtype(static_cast<int>(call.integer("to", 0)));
  if (!type)
    return std::nullopt;
  if (*type == DType::I64)
    return integer_constant(*type, data.shape, data.values);
  program::HostTensor tensor = program::make_host_tensor({}, *type, data.shape);
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    const std::int64_t value = is_float(*type) ? data.values[i] : wrapped(data.values[i], *type);
    program::set(tensor, static_cast<std::int64_t>(i), static_cast<double>(value));
  }
  return make_constant(std::move(tensor));
}

std::optional<Small> fold(const Call &call, const std::vector<Small> &operands) {
  const std::size_t count = operands.size();
  for (const Elementwise &row : kElementwise)
    if (row.type == call.op() && row.arity == count && call.opset() >= 7)
      return fold_elementwise(call, row, operands);
  if (call.op() == "Concat")
    return fold_concat(call, operands);
  if (call.op() == "Slice")
    return fold_slice(call, operands[0]);
  return std::nullopt;
}

} // namespace

Value integer_constant(DType type, const program::Shape &shape, const Ints &values) {
  program::HostTensor tensor = program::make_host_tensor({}, type, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == DType::I64) {
      std::memcpy(tensor.data.data() + i * sizeof(std::int64_t), &values[i], sizeof(std::int64_t));
    } else {
      program::set(tensor, static_cast<std::int64_t>(i), static_cast<double>(values[i]));
    }
  }
  return make_constant(std::move(tensor));
}

std::optional<Value> fold_integers(const Call &call) {
  if (call.inputs() == 0)
    return std::nullopt;
  std::vector<Small> operands;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i) || !is_small_integer(call.value(i)))
      return std::nullopt;
    operands.push_back(to_small(call.value(i)));
  }
  if (call.op() == "Cast")
    return fold_cast(call, operands.front());
  const std::optional<Small> result = fold(call, operands);
  if (!result)
    return std::nullopt;
  call.make_elems(static_cast<std::int64_t>(result->values.size()), result->type);
  return integer_constant(result->type, result->shape, result->values);
}

} // namespace tilefuse::onnx_import
