// SPDX-License-Identifier: Apache-2.0
// The printer of a kernel's text (kernel/text/text.h has its grammar), shared by the files that
// define it: text_printer.cpp (the kernel, expressions and plain statements) and
// text_printer_intrinsic.cpp (barriers and intrinsics). Text is appended to one string; statements
// begin at the current indentation and end with a newline, expressions have neither.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "kernel/intrinsics.h"
#include "kernel/nodes.h"

namespace tilefuse::kernel {

// Prints statements and expressions of one kernel.
class TextPrinter {
public:
  // Keeps a reference to the kernel.
  explicit TextPrinter(const Kernel &kernel) : kernel_(kernel) {}

  // Appends an expression, in parentheses where its operator binds less than `enclosing`.
  void expr(ExprRef e, int enclosing = 0) {
    std::visit([&](const auto &node) { print(e, node, enclosing); }, e->node);
  }
  // Appends a statement with all that it holds.
  void stmt(StmtRef s) {
    std::visit([&](const auto &node) { print(node); }, s->node);
  }
  // Appends formatted text as it is.
  template <class... Args> void put(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  // Indents later statements by so many levels more.
  void indent(int by) { depth_ += by; }
  // The text so far, which the printer gives up.
  std::string take() { return std::move(text_); }

private:
  // Expressions: `e` is the one whose node this is, `enclosing` as in expr().
  void print(ExprRef e, const Const &node, int enclosing);
  void print(ExprRef, const VarRef &node, int) { put("{}", kernel_[node.var].name); }
  void print(ExprRef, const BlockIndex &, int) { put("block"); }
  void print(ExprRef, const LaneIndex &, int) { put("lane"); }
  void print(ExprRef e, const Scalar &node, int enclosing);
  void print(ExprRef, const Fma &node, int) { call("fma", {node.a, node.b, node.c}); }
  void print(ExprRef, const Dot &node, int) { call(node.op->name, {node.a, node.b, node.c}); }
  void print(ExprRef e, const Cast &node, int);
  void print(ExprRef e, const Broadcast &node, int);
  void print(ExprRef e, const Load &node, int);

  // Statements.
  void print(const Block &node) {
    for (const StmtRef child : node.body)
      stmt(child);
  }
  void print(const Let &node);
  void print(const For &node);
  void print(const If &node);
  void print(const Store &node);
  void print(const Barrier &node);
  void print(const Prefetch &node);
  void print(const Intrinsic &node);
  // Operands of an intrinsic; the operand's keyword stands already.
  void print(const ElementOperand &operand) { element(*operand.buffer, *operand.index); }
  void print(const RunOperand &operand);
  void print(const ExprOperand &operand) { expr(*operand.at); }
  void print(const ListOperand &operand);
  void print(const NumberOperand &operand) { put("{}", operand.value()); }
  void print(const MapId *map) { put("{}", kernel_[*map].name); }
  void print(const bool *) {}

  // Appends the indentation.
  void start() { text_.append(static_cast<std::size_t>(depth_) * 2, ' '); }
  // Appends a line of its own.
  void line(std::string_view text) {
    start();
    put("{}\n", text);
  }
  // Appends the statements of a body, one level deeper.
  void nested(StmtRef body);
  // Appends a function call.
  void call(std::string_view name, std::initializer_list<ExprRef> args);
  // Appends `name[index .. lanes : stride`, without what is 1; the caller adds to it and closes it.
  void access(BufferId buffer, ExprRef index, int lanes, std::int64_t stride);
  // Appends `name[index]`.
  void element(BufferId buffer, ExprRef index);

  const Kernel &kernel_;
  std::string text_;
  int depth_ = 0; // levels of indentation
};

} // namespace tilefuse::kernel
