// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"
#include "kernel/text/text_printer.h"

namespace tilefuse::kernel {
namespace {

constexpr auto kMbarrierOps = words<MbarrierOp>({{MbarrierOp::Init, "init"},
                                                 {MbarrierOp::Arrive, "arrive"},
                                                 {MbarrierOp::Expect, "expect"},
                                                 {MbarrierOp::Wait, "wait"}});

} // namespace

void TextPrinter::print(const Barrier &node) {
  line(node.is_of_warp()      ? "barrier warp"
       : node.is_of_cluster() ? "barrier cluster"
       : node.id == 0         ? "barrier"
                              : fmt::format("barrier {} {}", node.id, node.items));
}

void TextPrinter::print(const Prefetch &node) {
  start();
  put("prefetch ");
  element(node.buffer, node.index);
  put("\n");
}

void TextPrinter::print(const LoadMatrix &node) {
  start();
  put("ldmatrix.x{}{} ", node.matrices, node.transposed ? ".trans" : "");
  element(node.to);
  put(" = ");
  element(node.from, node.index);
  put("\n");
}

void TextPrinter::print(const Mma &node) {
  start();
  put("mma.{} ", node.op->name);
  element(node.acc);
  put(" += ");
  element(node.a);
  put(" * ");
  element(node.b);
  put("\n");
}

void TextPrinter::print(const AsyncCopy &node) {
  start();
  put("async_copy ");
  access(node.to, node.to_index, node.elems, 1);
  if (node.valid != nullptr) {
    put(" valid ");
    expr(node.valid);
  }
  put("] = ");
  element(node.from, node.from_index);
  put("\n");
}

void TextPrinter::print(const Ticket &node) {
  start();
  put("ticket ");
  element(node.to);
  put(" = ");
  element(node.counts, node.index);
  put("\n");
}

void TextPrinter::print(const Mbarrier &node) {
  start();
  put("mbarrier_{} ", kMbarrierOps[node.op]);
  element(node.at);
  if (node.value != nullptr) {
    put(" ");
    expr(node.value);
  }
  if (node.rank != nullptr) {
    put(" rank ");
    expr(node.rank);
  }
  put("{}", node.for_cluster ? " cluster" : "");
  put("\n");
}

void TextPrinter::list(const std::vector<ExprRef> &exprs) {
  put("[");
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    put("{}", i == 0 ? "" : ", ");
    expr(exprs[i]);
  }
  put("]");
}

void TextPrinter::print(const TensorCopy &node) {
  start();
  put("tensor_copy ");
  element(node.to);
  put(" = {}", kernel_[node.map].name);
  list(node.at);
  if (!node.offsets.empty()) {
    put(" offsets ");
    list(node.offsets);
  }
  put(" signals ");
  element(node.signals);
  if (node.ranks != nullptr) {
    put(" ranks ");
    expr(node.ranks);
  }
  put("\n");
}

void TextPrinter::print(const TensorStore &node) {
  start();
  put("tensor_store {}", kernel_[node.map].name);
  list(node.at);
  put(" = ");
  element(node.from);
  put("\n");
}

void TextPrinter::print(const StoreSync &node) {
  switch (node.step) {
  case StoreStep::Fence:
    return line("store_fence");
  case StoreStep::Commit:
    return line("store_commit");
  case StoreStep::Wait:
    return line(fmt::format("store_wait {}", node.pending));
  }
}

void TextPrinter::print(const Wgmma &node) {
  start();
  put("wgmma.{} ", node.op->name);
  element(node.acc);
  put(" += ");
  element(node.a);
  put(" * ");
  element(node.b);
  put(" rows {}", node.a_row_bytes);
  if (node.b_row_bytes != node.a_row_bytes)
    put(" {}", node.b_row_bytes);
  if (node.a_panel != 0)
    put(" a_panel {}", node.a_panel);
  if (node.b_panel != 0)
    put(" b_panel {}", node.b_panel);
  if (node.a_lines != 0)
    put(" a_lines {}", node.a_lines);
  if (node.b_lines != 0)
    put(" b_lines {}", node.b_lines);
  if (node.accumulate != nullptr) {
    put(" when ");
    expr(node.accumulate);
  }
  put("\n");
}

void TextPrinter::print(const WgmmaSync &node) {
  switch (node.step) {
  case WgmmaStep::Fence:
    return line("wgmma_fence");
  case WgmmaStep::Commit:
    return line("wgmma_commit");
  case WgmmaStep::Wait:
    return line(fmt::format("wgmma_wait {}", node.pending));
  }
}

} // namespace tilefuse::kernel
