// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_names.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "emit/c/c_context.h"
#include "kernel/rules.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

bool is_int(const kernel::Type &type) { return type.elem == DType::I32 && type.lanes == 1; }

template <typename T> std::string decimal(T value, std::string_view suffix) {
  if (std::isnan(value))
    return "NAN";
  if (std::isinf(value))
    return value > 0 ? "INFINITY" : "(-INFINITY)";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  text += suffix;
  return std::signbit(value) ? "(" + text + ")" : text;
}

// `value` as a whole number within [low, high]; NaN gives 0.
std::int64_t saturated(double value, std::int64_t low, std::int64_t high) {
  if (std::isnan(value))
    return 0;
  if (value <= static_cast<double>(low))
    return low;
  if (value >= static_cast<double>(high))
    return high;
  return static_cast<std::int64_t>(value);
}

std::string whole(std::int64_t value, std::string_view suffix) {
  if (value == std::numeric_limits<std::int64_t>::min())
    return fmt::format("(-{}{} - 1)", std::numeric_limits<std::int64_t>::max(), suffix);
  if (value == std::numeric_limits<std::int32_t>::min() && suffix.empty())
    return fmt::format("(-{} - 1)", std::numeric_limits<std::int32_t>::max());
  return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
}

std::string float_literal(DType elem, double value) {
  return elem == DType::F64 ? decimal(value, "")
                            : decimal(static_cast<float>(nearest(value, elem)), "f");
}

std::string scalar_literal(const CContext &cx, const kernel::Type &type, double value) {
  using I64 = std::numeric_limits<std::int64_t>;
  const DTypeTraits &row = traits(type.elem);
  if (type.elem == DType::Bool)
    return value == 0 ? "0" : (type.lanes == 1 ? "1" : "(-1)");
  if (row.is_float)
    return float_literal(type.elem, value);
  if (is_int(type))
    return integer_literal(cx, saturated(value, I64::min(), I64::max()));
  if (!row.is_signed && !is_narrow(type.elem)) {
    const std::int64_t bits = whole_of(kernel::narrowed(value, type.elem), type.elem);
    return fmt::format("{}{}", static_cast<std::uint64_t>(bits), row.bits == 64 ? "UL" : "U");
  }
  const auto high = static_cast<std::int64_t>(row.high);
  const std::string text = whole(saturated(value, row.low, high), row.bits == 64 ? "L" : "");
  return is_narrow(type.elem) ? fmt::format("({}){}", row.c_value, text) : text;
}

} // namespace

std::string integer_literal(const CContext &cx, std::int64_t value) {
  using I32 = std::numeric_limits<std::int32_t>;
  if (cx.wide)
    return whole(value, "L");
  return whole(std::clamp<std::int64_t>(value, I32::min(), I32::max()), "");
}

std::string value_type(const CContext &cx, const kernel::Type &type) {
  if (is_int(type))
    return cx.index_type();
  const std::string elem = cx.language.value_elem(type.elem);
  return type.lanes == 1 ? elem : cx.language.vector(elem, type.lanes);
}

std::string type_tag(const kernel::Type &type) {
  return type.lanes == 1 ? std::string(to_string(type.elem))
                         : fmt::format("{}x{}", to_string(type.elem), type.lanes);
}

std::string literal(const CContext &cx, const kernel::Type &type, double value) {
  const std::string scalar = scalar_literal(cx, type, value);
  return type.lanes == 1 ? scalar : cx.language.compose(value_type(cx, type), scalar);
}

std::string fill_literal(const CContext &cx, const kernel::Type &type, double fill) {
  if (type.elem == DType::Bool)
    return fill == 0 ? "0" : (type.lanes == 1 ? "1" : "(-1)");
  return literal(cx, {type.elem, 1}, fill);
}

std::string buffer_name(const CContext &cx, kernel::BufferId id) {
  switch (cx.kernel[id].space) {
  case kernel::Space::Global:
    return fmt::format("b{}", to_int(id));
  case kernel::Space::Local:
    return fmt::format("s{}", to_int(id));
  case kernel::Space::Register:
    return fmt::format("a{}", to_int(id));
  }
  internal_error("a memory space without names", __FILE__, __LINE__);
}

std::string register_name(const CContext &cx, kernel::BufferId id, std::int64_t index) {
  return fmt::format("{}_{}", buffer_name(cx, id), index);
}

std::string variable_name(kernel::VarId id) { return fmt::format("v{}", to_int(id)); }

std::string pointer_type(const CContext &cx, const kernel::Buffer &buffer) {
  const bool is_global = buffer.space == kernel::Space::Global;
  return fmt::format("{}{}{}*", is_global ? cx.words().global_space : cx.scratch_space(),
                     is_global && !buffer.written ? "const " : "",
                     cx.language.memory_elem(buffer.type.elem));
}

std::string bare(std::string text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return text;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : (text[i] == ')' ? -1 : 0);
    if (depth == 0)
      return text;
  }
  return text.substr(1, text.size() - 2);
}

std::string offset(const std::string &base, const std::string &index) {
  const bool is_sum = index.find_first_of("?<>=!&|^") == std::string::npos;
  return fmt::format("{} + {}", base, is_sum ? index : "(" + index + ")");
}

} // namespace tilefuse::emit
