// SPDX-License-Identifier: Apache-2.0
// Barriers, and intrinsics by the rows of their table.
#include "kernel/text/text_printer.h"

namespace tilefuse::kernel {
namespace {

// Whether an operand that may be left out is.
bool is_lacking(const Operand &operand) {
  if (!operand.may_lack)
    return false;
  if (const auto *expr = std::get_if<ExprOperand>(&operand.at))
    return *expr->at == nullptr;
  if (const auto *list = std::get_if<ListOperand>(&operand.at))
    return list->at->empty();
  if (const auto *number = std::get_if<NumberOperand>(&operand.at))
    return number->value() == number->absent();
  bool *const *flag = std::get_if<bool *>(&operand.at);
  return flag != nullptr && !**flag;
}

// A list behind what it belongs to: "t0[c, 0]".
bool is_glued(const Operand &operand) {
  return operand.word.empty() && std::holds_alternative<ListOperand>(operand.at);
}

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

void TextPrinter::print(const RunOperand &operand) {
  access(*operand.buffer, *operand.index, *operand.elems, 1);
  if (*operand.valid != nullptr) {
    put(" valid ");
    expr(*operand.valid);
  }
  put("]");
}

void TextPrinter::print(const ListOperand &operand) {
  put("[");
  for (const ExprRef &each : *operand.at) {
    put("{}", &each == operand.at->data() ? "" : ", ");
    expr(each);
  }
  put("]");
}

void TextPrinter::print(const Intrinsic &node) {
  start();
  put("{}", row_of(node).word(node));
  for (const Operand &operand : operands(node)) {
    if (is_lacking(operand))
      continue;
    const bool is_flag = std::holds_alternative<bool *>(operand.at);
    if (!operand.word.empty())
      put(" {}", operand.word);
    put("{}", is_flag || is_glued(operand) ? "" : " ");
    std::visit([&](const auto &at) { print(at); }, operand.at);
  }
  put("\n");
}

} // namespace tilefuse::kernel
