// SPDX-License-Identifier: Apache-2.0
// Core instructions of matrix units as data: one row per instruction gives shape, types, and where
// each value of each lane lies in each operand. d = a * b + d with a of m x k, b of k x n and d of
// m x n. Simulation, loads, stores and code derive from these rows.
//
//   mma    a warp of 32 lanes; a, b and d are spread over its lanes
//   wgmma  four warps, 128 lanes, together; b is in local memory, and a, or a is spread over lanes as
//          d is
//
// A fragment is written as digits with strides, lowest digit first: lane = t + 4 * g with t < 4 and
// g < 8, and 32 * warp for four warps; a value's number is split over its digits in the same way.
// In bytes the operands of every row are alike: a lane holds 4-byte words of 16-byte rows, which is
// what `ldmatrix` delivers.
//
//   m16n8k16.f16.f32, a: value i of lane (t, g) is at
//     row g + 8*((i>>1)&1), column 2t + (i&1) + 8*(i>>2)
//
// Source: NVIDIA PTX ISA, "Matrix fragments for mma" and "for wgmma.mma_async"; equal to CuTe's
// MMA_Traits.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "target/dtype.h"

namespace tilefuse {

constexpr int kCoreLanes = 32;

// One digit of a lane's or value's number: how far one step moves in the operand.
struct Digit {
  int size = 1;
  int row = 0;
  int column = 0;
};

// How a warp gets a fragment of an operand that lies turned, its own index contiguous and k apart:
// not at all; two bytes at a time as matrices (`ldmatrix.trans`, or wgmma's descriptor); or word by
// word, where an element is a whole word of a lane: mma by plain loads of neighbours, one each for the
// fragments of neighbouring instructions; wgmma once other warps have turned its tile in local memory.
enum class Turned { Never, Matrices, Words };

struct Fragment {
  DType type{};
  int rows = 0;
  int columns = 0;
  std::array<Digit, 3> lane{};  // t, g, warp
  std::array<Digit, 3> value{}; // within a 4-byte word, then word by word
  Turned turned = Turned::Never;

  int lanes() const { return lane[0].size * lane[1].size * lane[2].size; }
  // Values that each lane holds, and their bytes.
  int values() const { return rows * columns / lanes(); }
  std::int64_t bytes() const { return values() * size_bytes(type); }
};

struct Place {
  int row = 0;
  int column = 0;
  friend bool operator==(const Place &, const Place &) = default;
};

// Where value `value` < values() of lane `lane` < lanes() lies.
Place place(const Fragment &fragment, int lane, int value);

struct CoreOp {
  std::string_view name; // "m16n8k16.f16.f32": shape, type of a and b (or of each), type of d
  int m = 0;
  int n = 0;
  int k = 0;
  Fragment a;        // m x k
  Fragment b;        // k x n
  Fragment d;        // m x n
  bool tf32 = false; // f32 operands are read with a mantissa of 10 bits, truncated

  int lanes() const { return d.lanes(); }
};

// Executed by four warps.
inline bool is_wgmma(const CoreOp &op) { return op.lanes() > kCoreLanes; }

std::span<const CoreOp> core_ops();
// How instructions of a warp, or of four, get operands of a type that lie turned.
Turned turned_operands(DType type, bool is_of_wgmma);
// The row of that name, or null.
const CoreOp *find_core_op(std::string_view name);

} // namespace tilefuse
