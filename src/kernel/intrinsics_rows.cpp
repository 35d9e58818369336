// SPDX-License-Identifier: Apache-2.0
// Intrinsics of a processor's matrix unit, which a work-item executes.
#include <fmt/format.h>

#include "kernel/intrinsics.h"
#include "kernel/rules.h"

namespace tilefuse::kernel {
namespace {

constexpr std::int64_t kMostApart = std::int64_t{1} << 31;

ElementOperand register_of(RegisterRef &ref) { return {&ref.buffer, &ref.index, 0, 1}; }

std::string rows_rule(const Kernel &kernel, const RegisterRef &ref) {
  const Buffer &buffer = kernel[ref.buffer];
  return buffer.space == Space::Register && buffer.rows > 0 && ref.index->type == kInt
             ? std::string()
             : fmt::format("{} needs to be registers of rows, at an i32 index", buffer.name);
}

// Rows are moved from memory of their type and to it.
std::string moved_rule(const Kernel &kernel, const RegisterRef &ref, BufferId memory, ExprRef index,
                       std::int64_t apart) {
  if (std::string broken = rows_rule(kernel, ref); !broken.empty())
    return broken;
  const Buffer &other = kernel[memory];
  if (other.space == Space::Register || other.type.elem != kernel[ref.buffer].type.elem ||
      index->type != kInt)
    return fmt::format("rows of {} need memory of their type, at an i32 index; got {}",
                       kernel[ref.buffer].name, other.name);
  return apart >= 0 && apart <= kMostApart
             ? std::string()
             : fmt::format("rows need to lie 0 to {} elements apart; got {}", kMostApart, apart);
}

NumberOperand apart_of(std::int64_t &apart) { return {&apart, 0, kMostApart}; }

Operands zero_operands(RowsZero &node) {
  return {{.at = register_of(node.to), .effect = Effect::Writes}};
}

std::string zero_rule(const Kernel &kernel, const RowsZero &node) {
  return rows_rule(kernel, node.to);
}

Operands load_operands(RowsLoad &node) {
  return {{.at = register_of(node.to), .effect = Effect::Writes},
          {.at = ElementOperand{&node.from, &node.index}, .word = "=", .effect = Effect::Reads},
          {.at = apart_of(node.apart), .word = "apart", .what = "elements between rows"}};
}

std::string load_rule(const Kernel &kernel, const RowsLoad &node) {
  return moved_rule(kernel, node.to, node.from, node.index, node.apart);
}

Operands store_operands(RowsStore &node) {
  return {{.at = ElementOperand{&node.to, &node.index}, .effect = Effect::Writes},
          {.at = apart_of(node.apart), .word = "apart", .what = "elements between rows"},
          {.at = register_of(node.from), .word = "=", .effect = Effect::Reads}};
}

std::string store_rule(const Kernel &kernel, const RowsStore &node) {
  return moved_rule(kernel, node.from, node.to, node.index, node.apart);
}

// One of the instructions of the table.
std::vector<RowsDot> dot_forms() {
  std::vector<RowsDot> forms;
  for (const DotOp &op : dot_ops())
    if (has_rows(op))
      forms.push_back({.op = &op});
  return forms;
}

std::string dot_word(const RowsDot &node) { return std::string(node.op->name); }

Operands dot_operands(RowsDot &node) {
  return {{.at = register_of(node.acc), .effect = Effect::Updates},
          {.at = register_of(node.a), .word = "+=", .effect = Effect::Reads},
          {.at = register_of(node.b), .word = "*", .effect = Effect::Reads}};
}

std::string dot_rule(const Kernel &kernel, const RowsDot &node) {
  for (const RegisterRef *ref : {&node.acc, &node.a, &node.b})
    if (std::string broken = rows_rule(kernel, *ref); !broken.empty())
      return broken;
  const DotOp &op = *node.op;
  const Buffer &acc = kernel[node.acc.buffer];
  const Buffer &a = kernel[node.a.buffer];
  const Buffer &b = kernel[node.b.buffer];
  const bool fits = acc.rows <= op.rows && b.rows <= op.groups && a.rows == acc.rows &&
                    acc.type.elem == op.sum && a.type == Type{op.a, b.rows * op.products} &&
                    b.type == Type{op.b, acc.type.lanes * op.products};
  return fits ? std::string()
              : fmt::format("{} needs up to {} rows of {} and of {}, and of b up to {} rows of {} "
                            "for each lane; got {} {}, {} {} and {} {}",
                            op.name, op.rows, to_string(op.sum), to_string(op.a), op.groups,
                            op.products, acc.rows, to_string(acc.type), a.rows, to_string(a.type),
                            b.rows, to_string(b.type));
}

} // namespace

std::vector<IntrinsicRow> rows_intrinsics() {
  return {
      RowOf<RowsZero>{
          .name = "rows_zero",
          .called = "rows_zero",
          .operands = zero_operands,
          .rule = zero_rule,
      },
      RowOf<RowsLoad>{
          .name = "rows_load",
          .called = "rows_load",
          .operands = load_operands,
          .rule = load_rule,
      },
      RowOf<RowsStore>{
          .name = "rows_store",
          .called = "rows_store",
          .operands = store_operands,
          .rule = store_rule,
      },
      RowOf<RowsDot>{
          .name = "rowdot",
          .called = "a dot product of rows",
          .unknown = "there is no dot product '{0}'",
          .forms = dot_forms(),
          .word = dot_word,
          .operands = dot_operands,
          .rule = dot_rule,
      },
  };
}

} // namespace tilefuse::kernel
