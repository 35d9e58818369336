// SPDX-License-Identifier: Apache-2.0
#include "target/core_ops.h"

#include <algorithm>

namespace tilefuse {
namespace {

constexpr DType kF16 = DType::F16;
constexpr DType kBF16 = DType::BF16;
constexpr DType kF32 = DType::F32;
constexpr DType kI8 = DType::I8;
constexpr DType kU8 = DType::U8;
constexpr DType kI32 = DType::I32;

// Row operand of `m` rows of `words` 4-byte words of `w` elements: a lane's words go down 8 rows
// first, then 16 bytes along k.
constexpr Fragment a_of(DType type, int m, int words, int w) {
  return {type,
          m,
          words * w,
          {{{4, 0, w}, {8, 1, 0}}},
          {{{w, 0, 1}, {m / 8, 8, 0}, {words / 4, 0, 4 * w}}}};
}

// Column operand of 8 columns: the same with k running down.
constexpr Fragment b_of(DType type, int words, int w) {
  return {type,
          words * w,
          8,
          {{{4, w, 0}, {8, 0, 1}}},
          {{{w, 1, 0}, {words / 4, 4 * w, 0}, {1, 0, 0}}}};
}

// Result of 8 columns: pairs of columns, then 8 rows down.
constexpr Fragment d_of(DType type, int m) {
  return {type, m, 8, {{{4, 0, 2}, {8, 1, 0}}}, {{{2, 0, 1}, {m / 8, 8, 0}, {1, 0, 0}}}};
}

constexpr std::array<CoreOp, 14> kOps = {{
    {"m16n8k16.f16.f32", 16, 8, 16, a_of(kF16, 16, 8, 2), b_of(kF16, 8, 2), d_of(kF32, 16)},
    {"m16n8k16.f16.f16", 16, 8, 16, a_of(kF16, 16, 8, 2), b_of(kF16, 8, 2), d_of(kF16, 16)},
    {"m16n8k16.bf16.f32", 16, 8, 16, a_of(kBF16, 16, 8, 2), b_of(kBF16, 8, 2), d_of(kF32, 16)},
    {"m16n8k8.f16.f32", 16, 8, 8, a_of(kF16, 16, 4, 2), b_of(kF16, 4, 2), d_of(kF32, 16)},
    {"m16n8k8.f16.f16", 16, 8, 8, a_of(kF16, 16, 4, 2), b_of(kF16, 4, 2), d_of(kF16, 16)},
    {"m16n8k8.bf16.f32", 16, 8, 8, a_of(kBF16, 16, 4, 2), b_of(kBF16, 4, 2), d_of(kF32, 16)},
    {"m16n8k8.tf32.f32", 16, 8, 8, a_of(kF32, 16, 8, 1), b_of(kF32, 8, 1), d_of(kF32, 16), true},
    {"m16n8k4.tf32.f32", 16, 8, 4, a_of(kF32, 16, 4, 1), b_of(kF32, 4, 1), d_of(kF32, 16), true},
    {"m16n8k32.s8.s32", 16, 8, 32, a_of(kI8, 16, 8, 4), b_of(kI8, 8, 4), d_of(kI32, 16)},
    {"m16n8k32.u8.s32", 16, 8, 32, a_of(kU8, 16, 8, 4), b_of(kU8, 8, 4), d_of(kI32, 16)},
    {"m16n8k16.s8.s32", 16, 8, 16, a_of(kI8, 16, 4, 4), b_of(kI8, 4, 4), d_of(kI32, 16)},
    {"m16n8k16.u8.s32", 16, 8, 16, a_of(kU8, 16, 4, 4), b_of(kU8, 4, 4), d_of(kI32, 16)},
    {"m8n8k16.s8.s32", 8, 8, 16, a_of(kI8, 8, 4, 4), b_of(kI8, 4, 4), d_of(kI32, 8)},
    {"m8n8k16.u8.s32", 8, 8, 16, a_of(kU8, 8, 4, 4), b_of(kU8, 4, 4), d_of(kI32, 8)},
}};

void move(Place &at, std::span<const Digit> digits, int number) {
  for (const Digit &digit : digits) {
    at.row += number % digit.size * digit.row;
    at.column += number % digit.size * digit.column;
    number /= digit.size;
  }
}

} // namespace

Place place(const Fragment &fragment, int lane, int value) {
  Place at;
  move(at, fragment.lane, lane);
  move(at, fragment.value, value);
  return at;
}

std::span<const CoreOp> core_ops() { return kOps; }

const CoreOp *find_core_op(std::string_view name) {
  const auto *found =
      std::find_if(kOps.begin(), kOps.end(), [&](const CoreOp &op) { return op.name == name; });
  return found == kOps.end() ? nullptr : found;
}

} // namespace tilefuse
