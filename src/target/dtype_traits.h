// SPDX-License-Identifier: Apache-2.0
// The table of element types: one row per type, with what every level, format and language needs to
// know of it. To add a type: its name in DType, its row here, and how the back ends convert it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "target/dtype.h"

namespace tilefuse {

struct DTypeTraits {
  DType type{};
  std::string_view name; // "f16"
  int bits = 0;          // of an element in memory
  bool is_float = false;
  bool is_signed = true;
  DType value{};       // in which values are computed: f32 for f16
  DType accumulator{}; // in which sums and products are kept

  // Whole numbers: the bounds.
  std::int64_t low = 0;
  std::uint64_t high = 0;
  // Floating point: the largest finite number, binary digits of the significand, the error of what
  // lies below the normal numbers (which devices may flush), and what rounds f32 to the type.
  double largest = 0;
  int digits = 0;
  double underflow = 0;
  std::optional<ScalarOp> rounding{};

  int onnx = 0;             // number in a TensorProto
  std::string_view npy;     // "<f2"; empty: the format has no such type
  int tensor_map = 0;       // number of the CUDA driver
  std::string_view c_bits;  // in C, in memory: "ushort"
  std::string_view c_value; // in C, of a value: "float"
  std::string_view c_form;  // in names of functions that convert between the two; empty: the same

  // Element i of an array, as a number and as a whole one, which wraps; floating point has no such.
  double (*load)(const void *data, std::int64_t i) = nullptr;
  void (*store)(void *data, std::int64_t i, double value) = nullptr;
  std::int64_t (*load_whole)(const void *data, std::int64_t i) = nullptr;
  void (*store_whole)(void *data, std::int64_t i, std::int64_t value) = nullptr;
};

const DTypeTraits &traits(DType type);
// All rows, in the order of DType.
std::span<const DTypeTraits> dtypes();

// Whether values are computed in another type than they are stored in: f16, bf16.
bool is_half(DType type);
// Whole numbers of 8 bits, and of fewer than 32: C and the processor compute these in 32.
bool is_byte(DType type);
bool is_narrow(DType type);
// Whether a kernel's value has exactly the bits of the type: of fewer than 64, but not i32, in which
// indices may be wider.
bool keeps_width(DType type);
// The least and the largest number of a type, for floating point the finite ones.
double lowest(DType type);
double highest(DType type);

} // namespace tilefuse
