// SPDX-License-Identifier: Apache-2.0
// The printer of a kernel's text, shared by the files that define it: text_printer.cpp (the kernel,
// expressions and plain statements) and text_printer_intrinsic.cpp (barriers and intrinsics).
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

class TextPrinter {
public:
  explicit TextPrinter(const Kernel &kernel) : kernel_(kernel) {}

  void expr(ExprRef e, int enclosing = 0) {
    std::visit([&](const auto &node) { print(e, node, enclosing); }, e->node);
  }
  void stmt(StmtRef s) {
    std::visit([&](const auto &node) { print(node); }, s->node);
  }
  template <class... Args> void put(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void indent(int by) { depth_ += by; }
  std::string take() { return std::move(text_); }

private:
  void print(ExprRef e, const Const &node, int enclosing);
  void print(ExprRef, const VarRef &node, int) { put("{}", kernel_[node.var].name); }
  void print(ExprRef, const BlockIndex &, int) { put("block"); }
  void print(ExprRef, const LaneIndex &, int) { put("lane"); }
  void print(ExprRef e, const Scalar &node, int enclosing);
  void print(ExprRef, const Fma &node, int) { call("fma", {node.a, node.b, node.c}); }
  void print(ExprRef e, const Cast &node, int);
  void print(ExprRef e, const Broadcast &node, int);
  void print(ExprRef e, const Load &node, int);

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
  // One operand of an intrinsic; its word stands already.
  void print(const ElementOperand &operand) { element(*operand.buffer, *operand.index); }
  void print(const RunOperand &operand);
  void print(const ExprOperand &operand) { expr(*operand.at); }
  void print(const ListOperand &operand);
  void print(const NumberOperand &operand) { put("{}", operand.value()); }
  void print(const MapId *map) { put("{}", kernel_[*map].name); }
  void print(const bool *) {}

  void start() { text_.append(static_cast<std::size_t>(depth_) * 2, ' '); }
  void line(std::string_view text) {
    start();
    put("{}\n", text);
  }
  void nested(StmtRef body);
  void call(std::string_view name, std::initializer_list<ExprRef> args);
  void access(BufferId buffer, ExprRef index, int lanes, std::int64_t stride);
  void element(BufferId buffer, ExprRef index);

  const Kernel &kernel_;
  std::string text_;
  int depth_ = 0;
};

} // namespace tilefuse::kernel
