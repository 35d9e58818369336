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

constexpr std::int64_t kWordBytes = 4;
constexpr std::int64_t kDepthBytes = 32; // of k, by a wgmma

constexpr Turned turned_by_size(std::int64_t bytes) {
  return bytes == 2 ? Turned::Matrices : bytes == kWordBytes ? Turned::Words : Turned::Never;
}

// Row operand of `m` rows of `words` 4-byte words of `w` elements: a lane's words go down 8 rows
// first, then 16 bytes along k.
constexpr Fragment a_of(DType type, int m, int words, int w) {
  return {type,
          m,
          words * w,
          {{{4, 0, w}, {8, 1, 0}}},
          {{{w, 0, 1}, {m / 8, 8, 0}, {words / 4, 0, 4 * w}}},
          turned_by_size(kWordBytes / w)};
}

// Column operand of 8 columns: the same with k running down.
constexpr Fragment b_of(DType type, int words, int w) {
  return {type,
          words * w,
          8,
          {{{4, w, 0}, {8, 0, 1}}},
          {{{w, 1, 0}, {words / 4, 4 * w, 0}, {1, 0, 0}}},
          turned_by_size(kWordBytes / w)};
}

// Result of 8 columns: pairs of columns, then 8 rows down.
constexpr Fragment d_of(DType type, int m) {
  return {type, m, 8, {{{4, 0, 2}, {8, 1, 0}}}, {{{2, 0, 1}, {m / 8, 8, 0}, {1, 0, 0}}}};
}

// Result of four warps of 16 rows each: a row's values first, then those 8 rows down.
constexpr Fragment wide_d_of(DType type, int n) {
  return {
      type, 64, n, {{{4, 0, 2}, {8, 1, 0}, {4, 16, 0}}}, {{{2, 0, 1}, {n / 8, 0, 8}, {2, 8, 0}}}};
}

// Row operand of four warps of 16 rows each, where registers hold it: elements of `w` to a word.
constexpr Fragment wide_a_of(DType type, int w, Turned turned) {
  return {type,
          64,
          8 * w,
          {{{4, 0, w}, {8, 1, 0}, {4, 16, 0}}},
          {{{w, 0, 1}, {2, 8, 0}, {2, 0, 4 * w}}},
          turned};
}

// b lies in local memory; only its size and whether it may lie turned mean something.
constexpr CoreOp wide(std::string_view name, DType type, int n, int k, DType sum,
                      bool tf32 = false) {
  const Turned turned = turned_by_size(kDepthBytes / k);
  return {name,
          64,
          n,
          k,
          wide_a_of(type, k / 8, turned),
          {.type = type, .rows = k, .columns = n, .turned = turned},
          wide_d_of(sum, n),
          tf32};
}

// Of bytes, those of one operand with a sign.
constexpr CoreOp wide_bytes(std::string_view name, DType a, DType b, int n) {
  return {name, 64, n, 32, wide_a_of(a, 4, Turned::Never), {b, 32, n}, wide_d_of(kI32, n)};
}

constexpr std::array kOps = std::to_array<CoreOp>({
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
    {"m16n8k32.u8.s8.s32", 16, 8, 32, a_of(kU8, 16, 8, 4), b_of(kI8, 8, 4), d_of(kI32, 16)},
    {"m16n8k32.s8.u8.s32", 16, 8, 32, a_of(kI8, 16, 8, 4), b_of(kU8, 8, 4), d_of(kI32, 16)},
    {"m16n8k16.s8.s32", 16, 8, 16, a_of(kI8, 16, 4, 4), b_of(kI8, 4, 4), d_of(kI32, 16)},
    {"m16n8k16.u8.s32", 16, 8, 16, a_of(kU8, 16, 4, 4), b_of(kU8, 4, 4), d_of(kI32, 16)},
    {"m8n8k16.s8.s32", 8, 8, 16, a_of(kI8, 8, 4, 4), b_of(kI8, 4, 4), d_of(kI32, 8)},
    {"m8n8k16.u8.s32", 8, 8, 16, a_of(kU8, 8, 4, 4), b_of(kU8, 4, 4), d_of(kI32, 8)},
    wide("m64n16k16.f16.f32", kF16, 16, 16, kF32),
    wide("m64n24k16.f16.f32", kF16, 24, 16, kF32),
    wide("m64n32k16.f16.f32", kF16, 32, 16, kF32),
    wide("m64n40k16.f16.f32", kF16, 40, 16, kF32),
    wide("m64n48k16.f16.f32", kF16, 48, 16, kF32),
    wide("m64n56k16.f16.f32", kF16, 56, 16, kF32),
    wide("m64n64k16.f16.f32", kF16, 64, 16, kF32),
    wide("m64n80k16.f16.f32", kF16, 80, 16, kF32),
    wide("m64n96k16.f16.f32", kF16, 96, 16, kF32),
    wide("m64n104k16.f16.f32", kF16, 104, 16, kF32),
    wide("m64n112k16.f16.f32", kF16, 112, 16, kF32),
    wide("m64n128k16.f16.f32", kF16, 128, 16, kF32),
    wide("m64n192k16.f16.f32", kF16, 192, 16, kF32),
    wide("m64n200k16.f16.f32", kF16, 200, 16, kF32),
    wide("m64n224k16.f16.f32", kF16, 224, 16, kF32),
    wide("m64n256k16.f16.f32", kF16, 256, 16, kF32),
    wide("m64n16k16.bf16.f32", kBF16, 16, 16, kF32),
    wide("m64n24k16.bf16.f32", kBF16, 24, 16, kF32),
    wide("m64n32k16.bf16.f32", kBF16, 32, 16, kF32),
    wide("m64n40k16.bf16.f32", kBF16, 40, 16, kF32),
    wide("m64n48k16.bf16.f32", kBF16, 48, 16, kF32),
    wide("m64n56k16.bf16.f32", kBF16, 56, 16, kF32),
    wide("m64n64k16.bf16.f32", kBF16, 64, 16, kF32),
    wide("m64n80k16.bf16.f32", kBF16, 80, 16, kF32),
    wide("m64n96k16.bf16.f32", kBF16, 96, 16, kF32),
    wide("m64n104k16.bf16.f32", kBF16, 104, 16, kF32),
    wide("m64n112k16.bf16.f32", kBF16, 112, 16, kF32),
    wide("m64n128k16.bf16.f32", kBF16, 128, 16, kF32),
    wide("m64n192k16.bf16.f32", kBF16, 192, 16, kF32),
    wide("m64n200k16.bf16.f32", kBF16, 200, 16, kF32),
    wide("m64n224k16.bf16.f32", kBF16, 224, 16, kF32),
    wide("m64n256k16.bf16.f32", kBF16, 256, 16, kF32),
    wide("m64n16k8.tf32.f32", kF32, 16, 8, kF32, true),
    wide("m64n24k8.tf32.f32", kF32, 24, 8, kF32, true),
    wide("m64n32k8.tf32.f32", kF32, 32, 8, kF32, true),
    wide("m64n40k8.tf32.f32", kF32, 40, 8, kF32, true),
    wide("m64n56k8.tf32.f32", kF32, 56, 8, kF32, true),
    wide("m64n64k8.tf32.f32", kF32, 64, 8, kF32, true),
    wide("m64n80k8.tf32.f32", kF32, 80, 8, kF32, true),
    wide("m64n96k8.tf32.f32", kF32, 96, 8, kF32, true),
    wide("m64n104k8.tf32.f32", kF32, 104, 8, kF32, true),
    wide("m64n112k8.tf32.f32", kF32, 112, 8, kF32, true),
    wide("m64n128k8.tf32.f32", kF32, 128, 8, kF32, true),
    wide("m64n192k8.tf32.f32", kF32, 192, 8, kF32, true),
    wide("m64n200k8.tf32.f32", kF32, 200, 8, kF32, true),
    wide("m64n224k8.tf32.f32", kF32, 224, 8, kF32, true),
    wide("m64n256k8.tf32.f32", kF32, 256, 8, kF32, true),
    wide("m64n16k32.s8.s32", kI8, 16, 32, kI32),
    wide("m64n32k32.s8.s32", kI8, 32, 32, kI32),
    wide("m64n48k32.s8.s32", kI8, 48, 32, kI32),
    wide("m64n64k32.s8.s32", kI8, 64, 32, kI32),
    wide("m64n80k32.s8.s32", kI8, 80, 32, kI32),
    wide("m64n96k32.s8.s32", kI8, 96, 32, kI32),
    wide("m64n112k32.s8.s32", kI8, 112, 32, kI32),
    wide("m64n128k32.s8.s32", kI8, 128, 32, kI32),
    wide("m64n192k32.s8.s32", kI8, 192, 32, kI32),
    wide("m64n208k32.s8.s32", kI8, 208, 32, kI32),
    wide("m64n224k32.s8.s32", kI8, 224, 32, kI32),
    wide("m64n256k32.s8.s32", kI8, 256, 32, kI32),
    wide("m64n16k32.u8.s32", kU8, 16, 32, kI32),
    wide("m64n32k32.u8.s32", kU8, 32, 32, kI32),
    wide("m64n48k32.u8.s32", kU8, 48, 32, kI32),
    wide("m64n64k32.u8.s32", kU8, 64, 32, kI32),
    wide("m64n80k32.u8.s32", kU8, 80, 32, kI32),
    wide("m64n96k32.u8.s32", kU8, 96, 32, kI32),
    wide("m64n112k32.u8.s32", kU8, 112, 32, kI32),
    wide("m64n128k32.u8.s32", kU8, 128, 32, kI32),
    wide("m64n192k32.u8.s32", kU8, 192, 32, kI32),
    wide("m64n208k32.u8.s32", kU8, 208, 32, kI32),
    wide("m64n224k32.u8.s32", kU8, 224, 32, kI32),
    wide("m64n256k32.u8.s32", kU8, 256, 32, kI32),
    wide_bytes("m64n16k32.u8.s8.s32", kU8, kI8, 16),
    wide_bytes("m64n32k32.u8.s8.s32", kU8, kI8, 32),
    wide_bytes("m64n48k32.u8.s8.s32", kU8, kI8, 48),
    wide_bytes("m64n64k32.u8.s8.s32", kU8, kI8, 64),
    wide_bytes("m64n80k32.u8.s8.s32", kU8, kI8, 80),
    wide_bytes("m64n96k32.u8.s8.s32", kU8, kI8, 96),
    wide_bytes("m64n112k32.u8.s8.s32", kU8, kI8, 112),
    wide_bytes("m64n128k32.u8.s8.s32", kU8, kI8, 128),
    wide_bytes("m64n192k32.u8.s8.s32", kU8, kI8, 192),
    wide_bytes("m64n208k32.u8.s8.s32", kU8, kI8, 208),
    wide_bytes("m64n224k32.u8.s8.s32", kU8, kI8, 224),
    wide_bytes("m64n256k32.u8.s8.s32", kU8, kI8, 256),
    wide_bytes("m64n16k32.s8.u8.s32", kI8, kU8, 16),
    wide_bytes("m64n32k32.s8.u8.s32", kI8, kU8, 32),
    wide_bytes("m64n48k32.s8.u8.s32", kI8, kU8, 48),
    wide_bytes("m64n64k32.s8.u8.s32", kI8, kU8, 64),
    wide_bytes("m64n80k32.s8.u8.s32", kI8, kU8, 80),
    wide_bytes("m64n96k32.s8.u8.s32", kI8, kU8, 96),
    wide_bytes("m64n112k32.s8.u8.s32", kI8, kU8, 112),
    wide_bytes("m64n128k32.s8.u8.s32", kI8, kU8, 128),
    wide_bytes("m64n192k32.s8.u8.s32", kI8, kU8, 192),
    wide_bytes("m64n208k32.s8.u8.s32", kI8, kU8, 208),
    wide_bytes("m64n224k32.s8.u8.s32", kI8, kU8, 224),
    wide_bytes("m64n256k32.s8.u8.s32", kI8, kU8, 256),
});

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

Turned turned_operands(DType type, bool is_of_wgmma) {
  const auto *found = std::find_if(kOps.begin(), kOps.end(), [&](const CoreOp &op) {
    return op.a.type == type && is_wgmma(op) == is_of_wgmma;
  });
  return found == kOps.end() ? Turned::Never : found->a.turned;
}

const CoreOp *find_core_op(std::string_view name) {
  const auto *found =
      std::find_if(kOps.begin(), kOps.end(), [&](const CoreOp &op) { return op.name == name; });
  return found == kOps.end() ? nullptr : found;
}

} // namespace tilefuse
