// SPDX-License-Identifier: Apache-2.0
#include "emit/c/cuda_matrix.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::emit {
namespace {

using Words = MatrixDialect::Words;

// "{%4, %5}"; `next` becomes the number after the last.
std::string numbers(std::size_t &next, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("{}%{}", i == 0 ? "" : ", ", next++);
  return "{" + text + "}";
}

std::string operands(std::string_view constraint, const Words &names) {
  std::string text;
  for (const std::string &name : names)
    text += fmt::format("{}\"{}\"({})", text.empty() ? "" : ", ", constraint, name);
  return text;
}

std::string load_matrix(bool transposed, const Words &to, const std::string &pointer) {
  std::size_t next = 0;
  const std::string words = numbers(next, to.size());
  const std::string text = fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%{}];",
                                       to.size(), transposed ? ".trans" : "", words, next);
  return fmt::format("asm volatile(\"{}\" : {} : \"r\"(tf_shared({})) : \"memory\");", text,
                     operands("=r", to), pointer);
}

std::string mma(const CoreOp &op, const Words &acc, const Words &a, const Words &b) {
  if (op.d.type == DType::F16)
    throw Error(ErrorCode::Unsupported, fmt::format("{} accumulates in half precision", op.name));
  const bool is_real = op.d.type == DType::F32;
  const std::string_view sum = is_real ? "f32" : "s32";
  std::size_t next = 0;
  const std::string d = numbers(next, acc.size());
  const std::string left = numbers(next, a.size());
  const std::string right = numbers(next, b.size());
  const std::string text = fmt::format(
      "mma.sync.aligned.m{}n{}k{}.row.col.{}.{}.{}.{} {}, {}, {}, {};", op.m, op.n, op.k, sum,
      ptx_type(op, op.a.type), ptx_type(op, op.b.type), sum, d, left, right, d);
  return fmt::format("asm volatile(\"{}\" : {} : {}, {});", text,
                     operands(is_real ? "+f" : "+r", acc), operands("r", a), operands("r", b));
}

std::string async_copy(std::int64_t bytes, const std::string &to, const std::string &from,
                       const std::string &copied) {
  const std::string text = fmt::format("cp.async.{}.shared.global [%0], [%1], {}, %2;",
                                       bytes == 16 ? "cg" : "ca", bytes);
  return fmt::format("asm volatile(\"{}\" :: \"r\"(tf_shared({})), \"l\"({}), \"r\"({}) : "
                     "\"memory\");",
                     text, to, from, copied);
}

} // namespace

std::string ptx_type(const CoreOp &op, DType type) {
  if (type == DType::F32 && op.tf32)
    return "tf32";
  return is_float(type) ? std::string(to_string(type))
                        : fmt::format("{}{}", type == DType::U8 ? 'u' : 's', 8 * size_bytes(type));
}

const MatrixDialect kCudaMatrix = {
    .load_matrix = load_matrix,
    .mma = mma,
    .async_copy = async_copy,
    .copied = "tf_copied({}, {})",
    .async_commit = "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");",
    .async_wait = "asm volatile(\"cp.async.wait_group {};\" ::: \"memory\");",
};

} // namespace tilefuse::emit
