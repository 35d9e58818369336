// SPDX-License-Identifier: Apache-2.0
#include "kernel/rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "kernel/intrinsics.h"
#include "target/dtype_traits.h"

namespace tilefuse::kernel {
namespace {

// The largest double below 2^63.
constexpr double kWidest = 9223372036854774784.0;
constexpr double kWidestLong = 18446744073709549568.0;
constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;

// Those of intrinsics come on top.
constexpr auto kWords = std::to_array<std::string_view>(
    {"kernel",   "blocks", "block_size", "block", "lane",    "let",       "for",  "unroll",
     "in",       "step",   "if",         "else",  "barrier", "cluster",   "rank", "ranks",
     "prefetch", "counts", "fixed",      "inf",   "nan",     "tensor_map"});

double saturated(double value, double low, double high) {
  return std::isnan(value) ? 0 : std::clamp(std::trunc(value), low, high);
}

bool is_logic(ScalarOp op) {
  return op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Not;
}

std::string list(std::span<const Type> types) {
  std::string text;
  for (const Type &type : types)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(type));
  return text;
}

std::string select_rule(std::span<const Type> args) {
  if (args[0] != Type{DType::Bool, args[1].lanes} || args[1] != args[2]) {
    return fmt::format(
        "select needs a bool condition and two values of one type and its lanes; got {}",
        list(args));
  }
  return {};
}

} // namespace

std::string to_string(Type type) {
  return type.lanes == 1 ? std::string(to_string(type.elem))
                         : fmt::format("{}x{}", to_string(type.elem), type.lanes);
}

bool is_integer(DType type) { return !is_float(type) && type != DType::Bool; }

double narrowed(double value, DType type) {
  if (is_float(type))
    return nearest(value, type);
  if (type == DType::Bool)
    return value != 0 ? 1 : 0;
  // Index arithmetic may be wider than its type.
  return keeps_width(type) ? saturated(value, lowest(type), highest(type))
                           : saturated(value, -kWidest, type == DType::U64 ? kWidestLong : kWidest);
}

Type scalar_type(ScalarOp op, std::span<const Type> args) {
  if (op == ScalarOp::Select)
    return args[1];
  return {row(op).is_comparison ? DType::Bool : args[0].elem, args[0].lanes};
}

std::string scalar_rule(ScalarOp op, std::span<const Type> args) {
  const ScalarOpRow &info = row(op);
  if (static_cast<int>(args.size()) != info.arity) {
    return fmt::format("{} needs {} arguments; got {}", info.name, info.arity, args.size());
  }
  if (op == ScalarOp::Select)
    return select_rule(args);
  if (std::any_of(args.begin(), args.end(), [&](const Type &type) { return type != args[0]; })) {
    return fmt::format("{} needs equal types; got {}", info.name, list(args));
  }
  const bool is_bool = args[0].elem == DType::Bool;
  if (is_logic(op) && !is_bool)
    return fmt::format("{} needs bool; got {}", info.name, list(args));
  if (is_bitwise(op) && !is_integer(args[0].elem))
    return fmt::format("{} needs integers; got {}", info.name, list(args));
  if (rounded_type(op) && args[0].elem != DType::F32)
    return fmt::format("{} needs f32; got {}", info.name, list(args));
  if (!info.is_comparison && is_bool)
    return fmt::format("{} needs numbers; got {}", info.name, list(args));
  return {};
}

std::string fma_rule(Type a, Type b, Type c) {
  if (a == b && b == c && is_float(a.elem))
    return {};
  const std::array types = {a, b, c};
  return fmt::format("fma needs one floating-point type; got {}", list(types));
}

std::string dot_rule(const DotOp &op, Type a, Type b, Type c) {
  const int lanes = c.lanes * op.products;
  if (a == Type{op.a, lanes} && b == Type{op.b, lanes} && c.elem == op.sum && lanes <= kMaxLanes &&
      !has_rows(op))
    return {};
  const std::array types = {a, b, c};
  return fmt::format("{} needs {} and {} of {} lanes for each of a sum of {}; got {}", op.name,
                     to_string(op.a), to_string(op.b), op.products, to_string(op.sum), list(types));
}

std::string broadcast_rule(Type value, int lanes) {
  if (lanes >= 1 && lanes <= kMaxLanes && lanes % value.lanes == 0)
    return {};
  return fmt::format("broadcast needs a scalar or a part of {} lanes; got {}", lanes,
                     to_string(value));
}

std::string access_rule(const Buffer &buffer, Type index, int lanes, std::int64_t lane_stride,
                        const Type *valid) {
  if (index != kInt)
    return fmt::format("an index of {} needs i32; got {}", buffer.name, to_string(index));
  if (valid != nullptr && *valid != kInt) {
    return fmt::format("`valid` of {} needs i32; got {}", buffer.name, to_string(*valid));
  }
  if (buffer.rows > 0)
    return fmt::format("{} has rows, which no access reaches", buffer.name);
  if (lanes < 1 || lanes > kMaxLanes) {
    return fmt::format("an access of {} needs 1 to {} lanes; got {}", buffer.name, kMaxLanes,
                       lanes);
  }
  if (lane_stride > kMaxStride || lane_stride < -kMaxStride) {
    return fmt::format("a lane stride of {} needs to stay within {}; got {}", buffer.name,
                       kMaxStride, lane_stride);
  }
  if (buffer.space != Space::Register)
    return {};
  const bool is_whole = lanes == buffer.type.lanes && lane_stride == 1;
  const bool is_gathered = buffer.type.lanes == 1 && lanes > 1 && lane_stride >= 1;
  if (valid != nullptr || (!is_whole && !is_gathered)) {
    return fmt::format("register {} is read by whole values or gathered from single ones, without "
                       "`valid`",
                       buffer.name);
  }
  return {};
}

std::string store_rule(const Buffer &buffer, Type value) {
  if (buffer.space == Space::Global && !buffer.written)
    return fmt::format("a store to the constant buffer {}", buffer.name);
  const bool is_split =
      buffer.space == Space::Register && value.lanes != buffer.type.lanes && buffer.type.lanes != 1;
  if (value.elem != buffer.type.elem || is_split) {
    return fmt::format("a store to {} needs {}; got {}", buffer.name, to_string(buffer.type),
                       to_string(value));
  }
  return {};
}

std::string buffer_rule(const Buffer &buffer) {
  if (!is_identifier(buffer.name))
    return fmt::format("buffer name '{}' is not an identifier", buffer.name);
  if (buffer.elems < 0 || buffer.elems > kMostElems) {
    return fmt::format("buffer {} needs 0 to {} elements; got {}", buffer.name, kMostElems,
                       buffer.elems);
  }
  if (buffer.counts && (buffer.space != Space::Global || !buffer.written || buffer.type != kInt))
    return fmt::format("the counts {} need to be i32 in global memory", buffer.name);
  if (buffer.fixed && (buffer.space != Space::Global || buffer.written))
    return fmt::format("the fixed {} needs to be in global memory and not written", buffer.name);
  const int most = buffer.space == Space::Register ? kMaxLanes : 1;
  if (buffer.type.lanes < 1 || buffer.type.lanes > most) {
    return fmt::format("elements of buffer {} need 1 to {} lanes; got {}", buffer.name, most,
                       buffer.type.lanes);
  }
  if (buffer.rows != 0 &&
      (buffer.space != Space::Register || buffer.rows < 1 || buffer.rows > kMaxRows))
    return fmt::format("buffer {} needs to be registers of 1 to {} rows; got {}", buffer.name,
                       kMaxRows, buffer.rows);
  return {};
}

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0]))
    return false;
  if (!std::all_of(name.begin(), name.end(),
                   [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); }))
    return false;
  return std::find(kWords.begin(), kWords.end(), name) == kWords.end() &&
         find_intrinsic(name) == nullptr;
}

} // namespace tilefuse::kernel
