// SPDX-License-Identifier: Apache-2.0
// The waist between compiler and runtime: source or machine code, the recipe to launch it, and
// where it came from. A package is all a device needs; nothing below it knows groups or schedules.
//
// Machine-code ABI of an ElfObject: void SYMBOL(void* const* args, int64_t block, void* scratch),
// called once per block in [0, blocks), args[i] pointing at argument i's first byte, scratch at
// scratch_bytes of the calling thread, 64-byte aligned. OpenCL: __kernel void SYMBOL(memory0, ulong
// offset0, memory1, ulong offset1, …), offsets in bytes; one-dimensional range blocks * block_size
// in groups of block_size. CUDA: extern "C" with the same arguments, a grid of `blocks`,
// scratch_bytes of dynamic shared memory; after the arguments a CUtensorMap of each of `maps`.
//
// A package with `counts` has one more argument behind the others, which the runtime provides: so
// many counts of its own for each loaded kernel, zero when it is loaded. Every launch leaves them
// at zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "target/dtype.h"

namespace tilefuse {

enum class CodeFormat : std::uint8_t {
  OpenclSource,
  OpenclBinary,
  ElfObject,
  CudaSource,
  CudaBinary
};

inline constexpr std::int64_t kCountBytes = 4;

struct Argument {
  std::int64_t bytes = 0; // that the kernel may touch from the argument's start
  bool written = false;
  friend bool operator==(const Argument &, const Argument &) = default;
};

// How boxes of an argument are copied by the tensor memory accelerator; see kernel::TensorMap.
// Dimensions are innermost first.
struct TensorView {
  std::int64_t argument = 0;
  DType type = DType::F32;
  std::int64_t offset = 0;           // bytes from the argument's start
  std::vector<std::int64_t> dims;    // elements
  std::vector<std::int64_t> strides; // bytes, from dimension 1 on
  std::vector<std::int64_t> box;     // elements; im2col: channels and points
  std::vector<std::int64_t> lower;   // im2col, by dimension 1 to the last but one
  std::vector<std::int64_t> upper;
  std::vector<std::int64_t> steps; // empty: tiled
  std::int64_t swizzle = 128;
  friend bool operator==(const TensorView &, const TensorView &) = default;
};

struct Package {
  std::string name;   // the readable kernel name
  std::string symbol; // the function in `code`: [a-z_][a-z0-9_]*, at most 63 characters
  CodeFormat format = CodeFormat::OpenclSource;
  std::string code;
  std::int64_t blocks = 1;
  std::int64_t block_size = 1;    // work-items per block
  std::int64_t scratch_bytes = 0; // per block, provided by the caller (ElfObject, CUDA)
  std::vector<Argument> args;
  std::int64_t counts = 0; // 4-byte counts behind the arguments, see below
  std::vector<TensorView> maps;
  double flops = 0; // of one launch, for reports
  double bytes = 0; // that one launch must at least move
  friend bool operator==(const Package &, const Package &) = default;
};

// Exact binary form (little-endian, versioned) for the kernel cache. deserialize throws Error{Io}
// on damage.
std::string serialize(const Package &package);
Package deserialize(std::string_view bytes);

// The launch recipe as text, and the code where it is source.
std::string to_text(const Package &package);

} // namespace tilefuse
