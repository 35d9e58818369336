// SPDX-License-Identifier: Apache-2.0
#include "kernel/text/text_printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/scanner.h"
#include "kernel/build.h"
#include "kernel/rules.h"
#include "kernel/text/text.h"
namespace tilefuse::kernel {
namespace {

// The shortest text that reads back as the same element.
std::string number(double value, DType type) {
  if (is_integer(type))
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return type == DType::F64 ? fmt::format("{}", value)
                            : fmt::format("{}", static_cast<float>(value));
}

// The amount of `x + -amount`, which is printed as a difference; else 0.
std::int64_t subtracted(const Scalar &node) {
  std::int64_t value = 0;
  const bool is_int_sum = node.op == ScalarOp::Add && node.args[1]->type == kInt;
  return is_int_sum && is_constant(node.args[1], &value) && value < 0 ? -value : 0;
}

// Its text begins with a number: within TYPE(…) it would read as a constant.
bool starts_with_number(ExprRef e) {
  const Scalar *scalar = std::get_if<Scalar>(&e->node);
  if (scalar != nullptr && !row(scalar->op).infix.empty())
    return starts_with_number(scalar->args[0]);
  return std::holds_alternative<Const>(e->node) && e->type == kInt;
}

} // namespace

void TextPrinter::print(ExprRef e, const Const &node, int enclosing) {
  const std::string value = number(node.value, e->type.elem);
  if (e->type != kInt)
    return put("{}({})", to_string(e->type), value);
  const bool parenthesised = node.value < 0 && enclosing > 0;
  put("{}{}{}", parenthesised ? "(" : "", value, parenthesised ? ")" : "");
}

void TextPrinter::print(ExprRef, const Scalar &node, int enclosing) {
  const ScalarOpRow &info = row(node.op);
  if (info.infix.empty()) {
    put("{}(", info.name);
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      if (i > 0)
        put(", ");
      expr(node.args[i]);
    }
    return put(")");
  }
  const int level = info.binding;
  const bool is_compared = !is_one_of(node.op, {ScalarOp::And, ScalarOp::Or}) && info.is_comparison;
  if (level < enclosing)
    put("(");
  expr(node.args[0], is_compared ? level + 1 : level);
  if (const std::int64_t amount = subtracted(node); amount != 0) {
    put(" - {}", amount);
  } else {
    put(" {} ", info.infix);
    expr(node.args[1], level + 1);
  }
  if (level < enclosing)
    put(")");
}

void TextPrinter::call(std::string_view name, std::initializer_list<ExprRef> args) {
  put("{}(", name);
  for (const ExprRef *arg = args.begin(); arg != args.end(); ++arg) {
    if (arg != args.begin())
      put(", ");
    expr(*arg);
  }
  put(")");
}

void TextPrinter::print(ExprRef e, const Cast &node, int) {
  constexpr int kAlwaysParenthesised = 6;
  put("{}(", to_string(e->type));
  expr(node.value, starts_with_number(node.value) ? kAlwaysParenthesised : 0);
  put(")");
}

void TextPrinter::print(ExprRef e, const Broadcast &node, int) {
  put("broadcast(");
  expr(node.value);
  put(", {})", e->type.lanes);
}

void TextPrinter::access(BufferId buffer, ExprRef index, int lanes, std::int64_t stride) {
  put("{}[", kernel_[buffer].name);
  expr(index);
  const bool is_value =
      kernel_[buffer].space == Space::Register && kernel_[buffer].type.lanes == lanes;
  if (is_value || lanes == 1)
    return;
  put(" .. {}", lanes);
  if (stride != 1)
    put(" : {}", stride);
}

void TextPrinter::print(ExprRef e, const Load &node, int) {
  access(node.buffer, node.index, e->type.lanes, node.lane_stride);
  if (node.valid != nullptr) {
    put(" valid ");
    expr(node.valid);
    put(" fill {}", number(node.fill, e->type.elem));
  }
  if (node.rank != nullptr) {
    put(" rank ");
    expr(node.rank);
  }
  put("]");
}

void TextPrinter::nested(StmtRef body) {
  put("{{\n");
  ++depth_;
  stmt(body);
  --depth_;
  start();
  put("}}");
}

void TextPrinter::print(const Let &node) {
  start();
  put("let {} = ", kernel_[node.var].name);
  expr(node.value);
  put("\n");
}

void TextPrinter::print(const For &node) {
  start();
  put("{} {} in ", node.kind == ForKind::Unroll ? "unroll" : "for", kernel_[node.var].name);
  expr(node.begin);
  put("..");
  expr(node.end);
  if (node.step != 1)
    put(" step {}", node.step);
  put(" ");
  nested(node.body);
  put("\n");
}

void TextPrinter::print(const If &node) {
  start();
  put("if ");
  expr(node.condition);
  put(" ");
  nested(node.then_body);
  if (node.else_body != nullptr) {
    put(" else ");
    nested(node.else_body);
  }
  put("\n");
}

void TextPrinter::print(const Store &node) {
  start();
  access(node.buffer, node.index, node.value->type.lanes, node.lane_stride);
  if (node.valid != nullptr) {
    put(" valid ");
    expr(node.valid);
  }
  put("] = ");
  expr(node.value);
  put("\n");
}

void TextPrinter::element(BufferId buffer, ExprRef index) {
  put("{}[", kernel_[buffer].name);
  expr(index);
  put("]");
}

namespace {

std::string numbers(const std::vector<std::int64_t> &list) {
  return fmt::format("[{}]", fmt::join(list, ", "));
}

// "  tensor_map t0 = b0 + 0 dims […] strides […] box […] swizzle 128".
std::string map_line(const Kernel &kernel, const TensorMap &map) {
  std::string text = fmt::format("  tensor_map {} = {} + {} dims {} strides {} box {}", map.name,
                                 kernel[map.tensor].name, map.offset, numbers(map.dims),
                                 numbers(map.strides), numbers(map.box));
  if (map.is_im2col())
    text += fmt::format(" lower {} upper {}", numbers(map.lower), numbers(map.upper));
  if (!map.steps.empty())
    text += " steps " + numbers(map.steps);
  return text + fmt::format(" swizzle {}\n", map.swizzle);
}

std::string_view space_words(const Buffer &buffer) {
  switch (buffer.space) {
  case Space::Global:
    if (!buffer.written)
      return buffer.fixed ? "global fixed" : "global const";
    return buffer.counts ? "global counts" : "global";
  case Space::Local:
    return "local";
  case Space::Register:
    return "register";
  }
  return "";
}

std::string name_token(const std::string &name) {
  return is_identifier(name) ? name : quoted(name);
}

} // namespace

std::string to_text(const Kernel &kernel) {
  TextPrinter out(kernel);
  out.put("kernel {} blocks {}", name_token(kernel.name), kernel.blocks);
  if (kernel.cluster != 1)
    out.put(" cluster {}", kernel.cluster);
  out.put(" block_size {}", kernel.block_size);
  if (kernel.flops != 0)
    out.put(" flops {}", kernel.flops);
  if (kernel.bytes != 0)
    out.put(" bytes {}", kernel.bytes);
  out.put(" {{\n");
  for (const Buffer &buffer : kernel.buffers) {
    out.put("  {} {} {}[{}{}]\n", space_words(buffer), buffer.name, to_string(buffer.type),
            buffer.elems, buffer.rows > 0 ? fmt::format(" * {}", buffer.rows) : "");
  }
  for (const TensorMap &map : kernel.maps)
    out.put("{}", map_line(kernel, map));
  out.indent(1);
  if (kernel.body != nullptr)
    out.stmt(kernel.body);
  out.put("}}\n");
  return out.take();
}

std::string to_text(const Kernel &kernel, ExprRef expr) {
  TextPrinter out(kernel);
  out.expr(expr);
  return out.take();
}

std::string to_text(const Kernel &kernel, StmtRef stmt) {
  TextPrinter out(kernel);
  out.stmt(stmt);
  return out.take();
}

} // namespace tilefuse::kernel
