// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_helpers.h"

#include <fmt/format.h>

#include "emit/c/c_context.h"
#include "emit/c/c_names.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

using kernel::Buffer;
using kernel::Type;

// Registers a function under its name; `text` follows the qualifiers.
std::string define(CContext &cx, const std::string &name, std::string_view qualifiers,
                   const std::string &text) {
  cx.helpers.emplace(name, fmt::format("{} {}\n", qualifiers, text));
  return name;
}

std::string wide_suffix(const CContext &cx) { return cx.wide ? "_wide" : ""; }

std::string access_name(const CContext &cx, std::string_view verb, const Buffer &buffer,
                        int lanes) {
  return fmt::format("tf_{}_{}_{}{}", verb,
                     buffer.space == kernel::Space::Global ? "global" : "local",
                     type_tag({buffer.type.elem, lanes}), wide_suffix(cx));
}

std::string read_pointer(const CContext &cx, const Buffer &buffer) {
  return fmt::format("{}const {}*",
                     buffer.space == kernel::Space::Global ? cx.words().global_space
                                                           : cx.scratch_space(),
                     cx.language.memory_elem(buffer.type.elem));
}

std::string write_pointer(const CContext &cx, const Buffer &buffer) {
  return fmt::format(
      "{}{}*", buffer.space == kernel::Space::Global ? cx.words().global_space : cx.scratch_space(),
      cx.language.memory_elem(buffer.type.elem));
}

// One lane of a vector value in memory, given the C expression of the scalar: a vector's truth is
// -1, a scalar's 1.
std::string lane_from_scalar(DType elem, const std::string &scalar) {
  return elem == DType::Bool ? "-" + scalar : scalar;
}

// "(float8)(0 < valid ? p[0] : fill, …)" with lanes `step` apart.
std::string lanes_or_fill(const CContext &cx, DType elem, int lanes, std::string_view step) {
  std::string parts;
  for (int l = 0; l < lanes; ++l) {
    const std::string index =
        step.empty() || l == 0 ? fmt::format("{}", l) : fmt::format("{} * {}", l, step);
    const std::string scalar = lane_from_scalar(elem, cx.language.load(elem, 1, "p", index));
    parts += fmt::format("{}{} < valid ? {} : fill", l == 0 ? "" : ", ", l, scalar);
  }
  return cx.language.compose(value_type(cx, {elem, lanes}), parts);
}

std::string stores_of_lanes(const CContext &cx, DType elem, int lanes, std::string_view step) {
  std::string text;
  for (int l = 0; l < lanes; ++l) {
    const std::string index =
        step.empty() || l == 0 ? fmt::format("{}", l) : fmt::format("{} * {}", l, step);
    text += fmt::format("  if ({} < valid) {};\n", l,
                        cx.language.store(elem, 1, "p", index, cx.language.lane("value", l)));
  }
  return text;
}

std::string_view rare_path(const CContext &cx) {
  return cx.vector_target ? cx.words().outlined : cx.words().helper;
}

constexpr std::int64_t kWordBytes = 4;

// Whether parts of vectors of the type are selected, in this kernel (CWords::select_registers).
bool selects_parts(const CContext &cx, DType elem) {
  if (cx.words().select_registers == 0 || size_bytes(elem) >= kWordBytes)
    return false;
  std::int64_t values = 0;
  for (const Buffer &buffer : cx.kernel.buffers)
    values += buffer.space == kernel::Space::Register ? buffer.elems * buffer.type.lanes : 0;
  return values <= cx.words().select_registers;
}

// A fill is a scalar of the vector's element type.
std::string fill_type(const CContext &cx, DType elem) { return cx.language.value_elem(elem); }

} // namespace

std::string select_helper(CContext &cx, ScalarOp min_or_max, const Type &type) {
  constexpr int kWord = 4;
  const bool is_max = min_or_max == ScalarOp::Max;
  if (!cx.words().bytes.empty() && is_byte(type.elem) && type.lanes % kWord == 0)
    return fmt::format("{}{}", cx.words().bytes, is_max ? "max" : "min");
  const std::string c_type = value_type(cx, type);
  const std::string name = fmt::format("tf_{}_{}{}", is_max ? "max" : "min", type_tag(type),
                                       type.lanes == 1 ? wide_suffix(cx) : "");
  return define(
      cx, name, cx.words().helper,
      fmt::format("{0} {1}({0} a, {0} b) {{ return {2}; }}", c_type, name,
                  bare(cx.language.select(type.lanes, is_max ? "b > a" : "b < a", "b", "a"))));
}

std::string rounding_helper(CContext &cx, ScalarOp op, const Type &type) {
  const DType to = *rounded_type(op);
  const std::string name = fmt::format("tf_{}_{}", row(op).name, type_tag(type));
  const std::string memory = cx.language.memory_elem(to);
  const int stored = cx.words().by_element ? 1 : type.lanes;
  std::string stores;
  std::string loads;
  for (int l = 0; l < type.lanes; l += stored) {
    const std::string part =
        stored == 1 && type.lanes > 1 ? cx.language.lane("a", l) : std::string("a");
    stores += fmt::format("  {};\n", cx.language.store(to, stored, "p", std::to_string(l), part));
    loads += (l == 0 ? "" : ", ") + cx.language.load(to, stored, "p", std::to_string(l));
  }
  const std::string c_type = value_type(cx, type);
  return define(cx, name, cx.words().helper,
                fmt::format("{0} {1}({0} a) {{\n  {2} bits[{3}];\n  {4}{5}* p = ({4}{5}*)bits;\n"
                            "{6}  return {7};\n}}",
                            c_type, name, traits(to).c_bits, type.lanes, cx.words().private_space,
                            memory, stores,
                            stored == type.lanes ? loads : cx.language.compose(c_type, loads)));
}

std::string division_helper(CContext &cx, ScalarOp div_or_mod, const Type &type) {
  const bool is_div = div_or_mod == ScalarOp::Div;
  const std::string c_type = value_type(cx, type);
  const std::string name = fmt::format("tf_{}_{}{}", is_div ? "div" : "mod", type_tag(type),
                                       type.lanes == 1 ? wide_suffix(cx) : "");
  const std::string zero = literal(cx, type, 0);
  const std::string one = literal(cx, type, 1);
  const std::string divisor = !traits(type.elem).is_signed
                                  ? fmt::format("b == {}", zero)
                                  : fmt::format("b == {} || b == -{}", zero, one);
  const std::string vector_divisor = !traits(type.elem).is_signed
                                         ? fmt::format("b == {}", zero)
                                         : fmt::format("(b == {}) | (b == -{})", zero, one);
  const std::string negated =
      fmt::format("({}){}a", c_type, !traits(type.elem).is_signed ? "" : "-");
  const std::string special =
      is_div ? cx.language.select(type.lanes, fmt::format("b == {}", zero), zero, negated) : zero;
  const std::string test = fmt::format("({})", type.lanes == 1 ? divisor : vector_divisor);
  return define(cx, name, cx.words().helper,
                fmt::format("{0} {1}({0} a, {0} b) {{\n  {0} q = a {2} {3};\n  return {4};\n}}",
                            c_type, name, is_div ? "/" : "%",
                            cx.language.select(type.lanes, test, one, "b"),
                            cx.language.select(type.lanes, test, special, "q")));
}

std::string load_helper(CContext &cx, const Buffer &buffer, int lanes) {
  const DType elem = buffer.type.elem;
  const std::string name = access_name(cx, "load", buffer, lanes);
  const std::string part = name + "_part";
  const std::string type = value_type(cx, {elem, lanes});
  const std::string arguments = fmt::format("({} p, {} valid, {} fill)", read_pointer(cx, buffer),
                                            cx.index_type(), fill_type(cx, elem));
  if (selects_parts(cx, elem))
    return define(cx, name, cx.words().helper,
                  fmt::format("{} {}{} {{\n  return {};\n}}", type, name, arguments,
                              lanes_or_fill(cx, elem, lanes, "")));
  define(cx, name, rare_path(cx),
         fmt::format("{} {}{} {{\n  return {};\n}}\n{} {} {}{} {{\n  return valid >= {} ? {} : "
                     "{}(p, valid, fill);\n}}",
                     type, part, arguments, lanes_or_fill(cx, elem, lanes, ""), cx.words().helper,
                     type, name, arguments, lanes, cx.language.load(elem, lanes, "p", "0"), part));
  return name;
}

std::string store_helper(CContext &cx, const Buffer &buffer, int lanes) {
  const DType elem = buffer.type.elem;
  const std::string name = access_name(cx, "store", buffer, lanes);
  const std::string part = name + "_part";
  const std::string arguments = fmt::format("({} p, {} value, {} valid)", write_pointer(cx, buffer),
                                            value_type(cx, {elem, lanes}), cx.index_type());
  return define(cx, name, rare_path(cx),
                fmt::format("void {}{} {{\n{}}}\n{} void {}{} {{\n  if (valid >= {}) {};\n"
                            "  else {}(p, value, valid);\n}}",
                            part, arguments, stores_of_lanes(cx, elem, lanes, ""),
                            cx.words().helper, name, arguments, lanes,
                            cx.language.store(elem, lanes, "p", "0", "value"), part));
}

std::string gather_helper(CContext &cx, const Buffer &buffer, int lanes) {
  const DType elem = buffer.type.elem;
  const std::string name = access_name(cx, "gather", buffer, lanes);
  return define(cx, name, cx.words().helper,
                fmt::format("{} {}({} p, {} stride, {} valid, {} fill) {{\n  return {};\n}}",
                            value_type(cx, {elem, lanes}), name, read_pointer(cx, buffer),
                            cx.index_type(), cx.index_type(), fill_type(cx, elem),
                            lanes_or_fill(cx, elem, lanes, "stride")));
}

std::string scatter_helper(CContext &cx, const Buffer &buffer, int lanes) {
  const DType elem = buffer.type.elem;
  const std::string name = access_name(cx, "scatter", buffer, lanes);
  return define(cx, name, cx.words().helper,
                fmt::format("void {}({} p, {} stride, {} value, {} valid) {{\n{}}}", name,
                            write_pointer(cx, buffer), cx.index_type(),
                            value_type(cx, {elem, lanes}), cx.index_type(),
                            stores_of_lanes(cx, elem, lanes, "stride")));
}

} // namespace tilefuse::emit
