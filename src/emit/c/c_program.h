// SPDX-License-Identifier: Apache-2.0
// A kernel's text as languages with functions and pointers declare it, one translation unit:
//
//   PROLOGUE
//   helper functions that the kernel uses, each behind an #ifndef of its own name
//   [static void SYMBOL_body(int block, …) { … }]     where the statements are outlined
//   ENTRY SYMBOL(buffers in argument order) { local arrays, registers, statements }
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// What such languages declare in their own way.
struct CProgram {
  std::string prologue;    // first lines
  std::string entry;       // qualifiers of the entry point
  std::string parameters;  // of it, behind those of the buffers: ", …"
  std::string begin;       // lines with which it begins
  std::string prepare;     // lines behind its local arrays and indices
  std::string aligned;     // attribute of a local array
  std::string sized_local; // declaration of the block's memory that the launch gives; empty: none
};

// Where the block's memory begins, a multiple of this, and its bytes.
std::int64_t local_align(const kernel::Kernel &kernel);
std::int64_t local_bytes(const kernel::Kernel &kernel);

std::string c_program(CContext &cx, const ProgramText &text, const CProgram &program);

} // namespace tilefuse::emit
