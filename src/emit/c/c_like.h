// SPDX-License-Identifier: Apache-2.0
// One printer of the kernel level for every C-like language. What differs between languages is a
// Dialect: words, and a few functions that spell vector types, accesses and conversions. The text
// is one translation unit:
//
//   PROLOGUE
//   helper functions that the kernel uses, each behind an #ifndef of its own name
//   [static void SYMBOL_body(int block, …) { … }]     when CLikeOptions::outline_body
//   ENTRY SYMBOL(buffers in argument order) { local arrays, registers, statements }
//
// Names come from ids alone: b0 (global), s2 (local), a3_0 (register 0 of buffer 3), v7 (variable).
// Units may be put one after another as long as their symbols differ.
//
// How values are held:  kernel      C                        in memory
//                       int         int, long when `wide`    int
//                       bool        int, 0 or 1              uchar, any non-zero byte is true
//                       boolxN      intN, 0 or -1            uchar
//                       f16, bf16   float                    half, ushort
//                       others      themselves               themselves
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emit/c/dialect.h"
#include "kernel/nodes.h"
#include "package/package.h"
#include "target/target.h"

namespace tilefuse::emit {

struct CLikeOptions {
  // The kernel's body as a function of its own, for compilers that copy the entry point several
  // times. Needs a block_size of 1.
  bool outline_body = false;
};

// The kernel's text as a package; the caller says its format. Error{Limit}: more work-items per
// group or larger buffers than there can be; Error{Unsupported}: doubles where the target has none,
// or what the language lacks.
Package c_like_package(const kernel::Kernel &kernel, const Target &target, const Dialect &dialect,
                       const CLikeOptions &options);

} // namespace tilefuse::emit
