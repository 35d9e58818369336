// SPDX-License-Identifier: Apache-2.0
// Matrix instructions and asynchronous copies. Fragments are held as the 4-byte words that the
// instructions take: values of half types have no C type of their own.
#include "emit/c/c_matrix.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "emit/c/c_align.h"
#include "emit/c/c_context.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_names.h"
#include "kernel/build.h"
#include "kernel/rules.h"
#include "kernel/walk.h"

namespace tilefuse::emit {
namespace {

using Words = MatrixDialect::Words;

constexpr std::int64_t kWordBytes = 4;

const MatrixDialect &copies_of(const CContext &cx) {
  if (cx.dialect.matrix == nullptr)
    throw Error(ErrorCode::Unsupported,
                fmt::format("an asynchronous copy cannot be written in {}", cx.dialect.name));
  return *cx.dialect.matrix;
}

const MatrixDialect &matrix_of(const CContext &cx) {
  if (cx.dialect.matrix == nullptr || cx.dialect.matrix->mma == nullptr)
    throw Error(ErrorCode::Unsupported,
                fmt::format("a matrix instruction cannot be written in {}", cx.dialect.name));
  return *cx.dialect.matrix;
}

// Bytes of an asynchronous copy that exist.
std::string copied_bytes(CContext &cx, const kernel::AsyncCopy &node, std::int64_t size) {
  if (node.valid == nullptr)
    return fmt::format("{}", node.elems * size);
  if (const kernel::ExprRef exists = all_or_none(node.valid, node.elems))
    return fmt::format("{} ? {} : 0", expression(cx, exists), node.elems * size);
  const std::string elems =
      fmt::format(fmt::runtime(copies_of(cx).copied), bare(expression(cx, node.valid)), node.elems);
  return fmt::format("{} * {}", elems, size);
}

std::int64_t words_of(const kernel::Type &type) {
  return type.lanes * size_bytes(type.elem) / kWordBytes;
}

std::int64_t constant_index(kernel::ExprRef index) {
  std::int64_t value = 0;
  TILEFUSE_CHECK(kernel::is_constant(index, &value), "a fragment's index is not constant");
  return value;
}

// The words of `count` values from an index on.
Words words(const CContext &cx, const kernel::RegisterRef &ref, std::int64_t count) {
  const std::int64_t first = constant_index(ref.index);
  Words list;
  for (std::int64_t i = first; i < first + count; ++i)
    for (std::int64_t w = 0; w < words_of(cx.kernel[ref.buffer].type); ++w)
      list.push_back(fmt::format("{}_{}", register_name(cx, ref.buffer, i), w));
  return list;
}

std::string pointer(CContext &cx, kernel::BufferId id, kernel::ExprRef index) {
  return fmt::format("{} + ({})", buffer_name(cx, id), bare(expression(cx, index)));
}

} // namespace

std::vector<std::string> accumulator_names(const CContext &cx, const kernel::RegisterRef &ref,
                                           const Fragment &fragment) {
  const std::int64_t first = constant_index(ref.index);
  const bool is_split = cx.kernel[ref.buffer].type.lanes == 1;
  Words list;
  for (int i = 0; i < fragment.values(); ++i)
    list.push_back(is_split ? register_name(cx, ref.buffer, first + i)
                            : cx.dialect.lane(register_name(cx, ref.buffer, first), i));
  return list;
}

std::vector<bool> fragment_buffers(const kernel::Kernel &kernel) {
  std::vector<bool> found(kernel.buffers.size());
  const auto note = [&](kernel::BufferId id) { found[at(id)] = true; };
  kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
    if (const auto *load = kernel::get_intrinsic<kernel::LoadMatrix>(stmt))
      note(load->to.buffer);
    if (const auto *mma = kernel::get_intrinsic<kernel::Mma>(stmt)) {
      note(mma->a.buffer);
      note(mma->b.buffer);
    }
  });
  return found;
}

std::string declare_words(const CContext &cx, kernel::BufferId id) {
  const kernel::Buffer &buffer = cx.kernel[id];
  std::string text;
  for (std::int64_t i = 0; i < buffer.elems; ++i)
    for (std::int64_t w = 0; w < words_of(buffer.type); ++w)
      text += fmt::format("  uint {}_{};\n", register_name(cx, id, i), w);
  return text;
}

std::string load_matrix_text(CContext &cx, const kernel::LoadMatrix &node) {
  const Words to = words(cx, node.to, load_matrix_values(cx.kernel, node));
  return matrix_of(cx).load_matrix(node.transposed, to, pointer(cx, node.from, node.index));
}

std::string mma_text(CContext &cx, const kernel::Mma &node) {
  const CoreOp &op = *node.op;
  const auto fragment = [&](const kernel::RegisterRef &ref, const Fragment &of) {
    return words(cx, ref, fragment_values(cx.kernel, ref, of));
  };
  return matrix_of(cx).mma(op, accumulator_names(cx, node.acc, op.d), fragment(node.a, op.a),
                           fragment(node.b, op.b));
}

std::string async_copy_text(CContext &cx, const kernel::AsyncCopy &node) {
  const std::int64_t size = size_bytes(cx.kernel[node.to].type.elem);
  const std::int64_t bytes = node.elems * size;
  return copies_of(cx).async_copy(bytes, pointer(cx, node.to, node.to_index),
                                  pointer(cx, node.from, node.from_index),
                                  copied_bytes(cx, node, size));
}

std::string async_commit_text(const CContext &cx) {
  return std::string(copies_of(cx).async_commit);
}

std::string async_wait_text(const CContext &cx, const kernel::AsyncWait &node) {
  return fmt::format(fmt::runtime(copies_of(cx).async_wait), node.pending);
}

} // namespace tilefuse::emit
