// SPDX-License-Identifier: Apache-2.0
#include "emit/c/nvidia_asm.h"

#include <fmt/format.h>

#include "emit/c/c_align.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_names.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

constexpr int kBytesOfWord = 4;

// Bytes of an asynchronous copy that exist.
std::string copied_bytes(CContext &cx, const kernel::AsyncCopy &node, const NvidiaCopy &words) {
  const std::int64_t size = size_bytes(cx.kernel[node.to].type.elem);
  if (node.valid == nullptr)
    return fmt::format("{}", node.elems * size);
  if (const kernel::ExprRef exists = all_or_none(node.valid, node.elems))
    return fmt::format("{} ? {} : 0", expression(cx, exists), node.elems * size);
  const std::string elems =
      fmt::format(fmt::runtime(words.copied), bare(expression(cx, node.valid)), node.elems);
  return fmt::format("{} * {}", elems, size);
}

} // namespace

std::string pointer_text(CContext &cx, kernel::BufferId id, kernel::ExprRef index) {
  return fmt::format("{} + ({})", buffer_name(cx, id), bare(expression(cx, index)));
}

std::string nvidia_copy(CContext &cx, const kernel::AsyncCopy &node, const NvidiaCopy &words) {
  const std::int64_t bytes = node.elems * size_bytes(cx.kernel[node.to].type.elem);
  const std::string to =
      fmt::format(fmt::runtime(words.to), pointer_text(cx, node.to, node.to_index));
  return fmt::format("asm volatile(\"cp.async.{}.shared.global [%0], [%1], {}, %2;\" :: {}, "
                     "\"l\"({}), \"r\"({}) : \"memory\");",
                     bytes == 16 ? "cg" : "ca", bytes, to,
                     pointer_text(cx, node.from, node.from_index), copied_bytes(cx, node, words));
}

std::string nvidia_commit() { return "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");"; }

std::string nvidia_wait(const kernel::AsyncWait &node) {
  return fmt::format("asm volatile(\"cp.async.wait_group {};\" ::: \"memory\");", node.pending);
}

std::string nvidia_dot(CContext &cx, const kernel::Dot &node, std::string_view as_word) {
  const DotOp &op = *node.op;
  if (op.products != kBytesOfWord)
    cx.language.refuse(fmt::format("'{}'", op.name));
  const auto type = [](DType elem) { return traits(elem).is_signed ? "s32" : "u32"; };
  const std::string name = fmt::format("tf_dp4a_{}_{}", type(op.a), type(op.b));
  cx.helpers.emplace(name,
                     fmt::format("{} int {}(uint a, uint b, int c) {{ int d; asm(\"dp4a.{}.{} "
                                 "%0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(a), \"r\"(b), "
                                 "\"r\"(c)); return d; }}\n",
                                 cx.words().helper, name, type(op.a), type(op.b)));
  const auto word = [&](kernel::ExprRef value) {
    return fmt::format(fmt::runtime(as_word), expression(cx, value));
  };
  return fmt::format("{}({}, {}, {})", name, word(node.a), word(node.b),
                     bare(expression(cx, node.c)));
}

TicketText ticket_text(CContext &cx, const kernel::Ticket &node) {
  return {.to = fmt::format("{}[{}]", buffer_name(cx, node.to.buffer),
                            bare(expression(cx, node.to.index))),
          .count = offset(buffer_name(cx, node.counts), bare(expression(cx, node.index)))};
}

std::string nvidia_ticket(CContext &cx, const kernel::Ticket &node) {
  const TicketText text = ticket_text(cx, node);
  return fmt::format(
      "{{ int found; asm volatile(\"atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;\" : \"=r\"(found) "
      ": \"l\"({1}) : \"memory\"); {0} = found; }}",
      text.to, text.count);
}

} // namespace tilefuse::emit
