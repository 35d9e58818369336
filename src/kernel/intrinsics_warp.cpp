// SPDX-License-Identifier: Apache-2.0
// Intrinsics that a warp executes, asynchronous copies, and how blocks and kernels meet.
#include <fmt/format.h>

#include "kernel/build.h"
#include "kernel/intrinsics.h"
#include "kernel/rules.h"

namespace tilefuse::kernel {
namespace {

constexpr int kMatrixWords = 4; // bytes of one work-item per 8 x 16-byte tile
constexpr std::int64_t kMaxPending = 64;

Type fragment_type(const Fragment &fragment) { return {fragment.type, fragment.values()}; }

bool is_async_size(std::int64_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

std::string transpose_word(const Transpose &node) {
  return fmt::format("transpose.x{}", node.rows);
}

Operands transpose_operands(Transpose &node) {
  return {{.at = ElementOperand{&node.square.buffer, &node.square.index, 0, node.rows},
           .effect = Effect::Updates}};
}

std::string transpose_rule(const Kernel &kernel, const Transpose &node) {
  const Buffer &buffer = kernel[node.square.buffer];
  const bool is_square = buffer.space == Space::Register && buffer.type.lanes == node.rows;
  const bool is_known = node.rows == 2 || node.rows == 4 || node.rows == 8 || node.rows == 16;
  std::int64_t first = 0;
  const bool fits =
      is_constant(node.square.index, &first) && first >= 0 && first + node.rows <= buffer.elems;
  return is_square && is_known && fits
             ? std::string()
             : fmt::format("transpose needs 2, 4, 8 or 16 registers of as many lanes; got {} of {}",
                           node.rows, to_string(buffer.type));
}

Operands shuffle_operands(Shuffle &node) {
  return {{.at = ElementOperand{&node.value.buffer, &node.value.index, 0, 1},
           .effect = Effect::Updates},
          {.at = NumberOperand{&node.apart, 1, kCoreLanes - 1}, .word = "xor"}};
}

std::string shuffle_rule(const Kernel &kernel, const Shuffle &node) {
  const Buffer &buffer = kernel[node.value.buffer];
  const bool is_word = buffer.space == Space::Register && buffer.type.lanes == 1 &&
                       size_bytes(buffer.type.elem) == kMatrixWords;
  if (!is_word)
    return fmt::format("a shuffle needs a register of 4 bytes; got {}", to_string(buffer.type));
  return node.apart >= 1 && node.apart < kCoreLanes && node.value.index->type == kInt
             ? std::string()
             : fmt::format("a shuffle needs 1 to {} as what work-items differ by; got {}",
                           kCoreLanes - 1, node.apart);
}

std::string load_matrix_word(const LoadMatrix &load) {
  return fmt::format("ldmatrix.x{}{}", load.matrices, load.transposed ? ".trans" : "");
}

Operands load_matrix_operands(LoadMatrix &load) {
  return {{.at = element_of(load.to, kMatrixWords * load.matrices), .effect = Effect::Writes},
          {.at = ElementOperand{&load.from, &load.index},
           .word = "=",
           .effect = Effect::Reads,
           .counted = AccessKind::LoadMatrix}};
}

std::string load_matrix_rule(const Kernel &kernel, const LoadMatrix &load) {
  const Buffer &to = kernel[load.to.buffer];
  const Buffer &from = kernel[load.from];
  if (load.matrices != 1 && load.matrices != 2 && load.matrices != 4)
    return fmt::format("ldmatrix needs 1, 2 or 4 tiles; got {}", load.matrices);
  if (to.space != Space::Register || from.space != Space::Local || to.type.elem != from.type.elem) {
    return fmt::format("ldmatrix needs a register and local memory of one type; got {} and {}",
                       to.name, from.name);
  }
  const std::int64_t size = size_bytes(from.type.elem);
  if (size > kMatrixWords || (load.transposed && size != 2)) {
    return fmt::format("ldmatrix needs {}; got {}",
                       load.transposed ? "a type of 2 bytes to transpose"
                                       : "a type of 1 to 4 bytes",
                       to_string(from.type));
  }
  if (load.to.index->type != kInt || load.index->type != kInt)
    return "an index of ldmatrix needs i32";
  const int elems = load_matrix_elems(load, from.type.elem);
  if (elems % to.type.lanes != 0) {
    return fmt::format("ldmatrix of {} elements needs to fill whole values of {}; got {}", elems,
                       to.name, to_string(to.type));
  }
  return {};
}

// One of the instructions of the table.
std::vector<Mma> mma_forms() {
  std::vector<Mma> forms;
  for (const CoreOp &op : core_ops())
    forms.push_back({.op = &op});
  return forms;
}

std::string mma_word(const Mma &mma) { return fmt::format("mma.{}", mma.op->name); }

Operands mma_operands(Mma &mma) {
  static const CoreOp none;
  const CoreOp &op = mma.op == nullptr ? none : *mma.op;
  return {{.at = element_of(mma.acc, op.d.bytes()), .effect = Effect::Updates},
          {.at = element_of(mma.a, op.a.bytes()), .word = "+=", .effect = Effect::Reads},
          {.at = element_of(mma.b, op.b.bytes()), .word = "*", .effect = Effect::Reads}};
}

std::string mma_rule(const Kernel &kernel, const Mma &mma) {
  if (mma.op == nullptr || is_wgmma(*mma.op))
    return "mma needs a row of the table of core instructions of one warp";
  for (const std::string &broken : {register_rule(kernel, mma.acc, fragment_type(mma.op->d)),
                                    register_rule(kernel, mma.a, fragment_type(mma.op->a)),
                                    register_rule(kernel, mma.b, fragment_type(mma.op->b))}) {
    if (!broken.empty())
      return fmt::format("mma.{}: {}", mma.op->name, broken);
  }
  return {};
}

Operands async_copy_operands(AsyncCopy &copy) {
  return {{.at = RunOperand{&copy.to, &copy.to_index, &copy.elems, &copy.valid},
           .what = "async_copy",
           .effect = Effect::Writes,
           .counted = AccessKind::AsyncWrite},
          {.at = ElementOperand{&copy.from, &copy.from_index},
           .word = "=",
           .effect = Effect::Reads,
           .counted = AccessKind::AsyncRead}};
}

std::string async_copy_rule(const Kernel &kernel, const AsyncCopy &copy) {
  const Buffer &to = kernel[copy.to];
  const Buffer &from = kernel[copy.from];
  if (to.space != Space::Local || from.space != Space::Global || to.type != from.type) {
    return fmt::format("async_copy needs local and global memory of one type; got {} and {}",
                       to.name, from.name);
  }
  const std::int64_t bytes = copy.elems * size_bytes(to.type.elem);
  if (copy.elems < 1 || !is_async_size(bytes))
    return fmt::format("async_copy needs 4, 8 or 16 bytes; got {}", bytes);
  if (copy.to_index->type != kInt || copy.from_index->type != kInt ||
      (copy.valid != nullptr && copy.valid->type != kInt))
    return "an index of async_copy needs i32";
  return {};
}

void fold_async_copy(AsyncCopy &copy) {
  std::int64_t count = 0;
  if (copy.valid != nullptr && is_constant(copy.valid, &count) && count >= copy.elems)
    copy.valid = nullptr;
}

Operands async_wait_operands(AsyncWait &wait) {
  return {{.at = NumberOperand{&wait.pending, 0, kMaxPending}, .what = "groups under way"}};
}

std::string async_wait_rule(const Kernel &, const AsyncWait &wait) {
  return wait.pending >= 0 && wait.pending <= kMaxPending
             ? std::string()
             : fmt::format("async_wait needs 0 to {} groups; got {}", kMaxPending, wait.pending);
}

Operands ticket_operands(Ticket &ticket) {
  return {{.at = element_of(ticket.to), .effect = Effect::Writes},
          {.at = ElementOperand{&ticket.counts, &ticket.index},
           .word = "=",
           .effect = Effect::Updates}};
}

std::string ticket_rule(const Kernel &kernel, const Ticket &ticket) {
  if (std::string broken = local_rule(kernel, ticket.to, DType::I32, "ticket"); !broken.empty())
    return broken;
  const Buffer &counts = kernel[ticket.counts];
  return counts.counts && ticket.index->type == kInt
             ? std::string()
             : fmt::format("a ticket needs an i32 index of counts; {} is none", counts.name);
}

} // namespace

std::vector<IntrinsicRow> warp_intrinsics() {
  return {
      RowOf<Transpose>{
          .name = "transpose.",
          .called = "a transposition",
          .unknown = "there is no '{0}': needs x2, x4, x8 or x16",
          .forms = {{.rows = 2}, {.rows = 4}, {.rows = 8}, {.rows = 16}},
          .word = transpose_word,
          .operands = transpose_operands,
          .rule = transpose_rule,
      },
      RowOf<Shuffle>{
          .name = "shuffle",
          .called = "a shuffle",
          .scope = Scope::Warp,
          .operands = shuffle_operands,
          .rule = shuffle_rule,
      },
      RowOf<LoadMatrix>{
          .name = "ldmatrix.",
          .called = "ldmatrix",
          .scope = Scope::Warp,
          .counted = InstructionKind::LoadMatrix,
          .unknown = "there is no '{0}': needs x1, x2 or x4, then .trans or nothing",
          .forms = {{.matrices = 1},
                    {.matrices = 2},
                    {.matrices = 4},
                    {.matrices = 1, .transposed = true},
                    {.matrices = 2, .transposed = true},
                    {.matrices = 4, .transposed = true}},
          .word = load_matrix_word,
          .operands = load_matrix_operands,
          .rule = load_matrix_rule,
      },
      RowOf<Mma>{
          .name = "mma.",
          .called = "mma",
          .scope = Scope::Warp,
          .counted = InstructionKind::Mma,
          .unknown = "there is no core instruction '{1}'",
          .forms = mma_forms(),
          .word = mma_word,
          .operands = mma_operands,
          .rule = mma_rule,
      },
      RowOf<AsyncCopy>{
          .name = "async_copy",
          .called = "async_copy",
          .counted = InstructionKind::AsyncCopy,
          .operands = async_copy_operands,
          .rule = async_copy_rule,
          .fold = fold_async_copy,
      },
      RowOf<AsyncCommit>{.name = "async_commit", .called = "async_commit"},
      RowOf<AsyncWait>{
          .name = "async_wait",
          .called = "async_wait",
          .operands = async_wait_operands,
          .rule = async_wait_rule,
      },
      RowOf<Ticket>{
          .name = "ticket",
          .called = "a ticket",
          .operands = ticket_operands,
          .rule = ticket_rule,
      },
      RowOf<AwaitEarlier>{.name = "await_earlier", .called = "await_earlier"},
  };
}

} // namespace tilefuse::kernel
