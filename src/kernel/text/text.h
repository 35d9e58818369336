// SPDX-License-Identifier: Apache-2.0
// Text form of a kernel and back: parse_kernel(to_text(k)) prints the same text. The parser builds
// through kernel/build.h, so a hand-written text comes back folded.
//
//   kernel  := 'kernel' NAME 'blocks' N 'block_size' N ['flops' X] ['bytes' X]
//              '{' buffer* stmt* '}'
//   buffer  := ('global' ['const'] | 'local' | 'register') NAME TYPE '[' N ']'
//   stmt    := 'let' NAME '=' expr
//            | ('for' | 'unroll') NAME 'in' expr '..' expr ['step' N] '{' stmt* '}'
//            | 'if' expr '{' stmt* '}' ['else' '{' stmt* '}']
//            | access '=' expr
//            | 'barrier' [ID ITEMS]
//            | 'prefetch' element
//            | intrinsic (kernel/intrinsics.h)
//   element := NAME '[' expr ']'
//   access  := NAME '[' expr ['..' LANES [':' STRIDE]] ['valid' expr ['fill' X]] ['rank' expr] ']'
//   primary := N | TYPE '(' X ')' | TYPE '(' expr ')'
//            | 'broadcast' '(' expr ',' LANES ')'
//            | 'fma' '(' expr ',' expr ',' expr ')'
//            | OP '(' expr {',' expr} ')'
//            | 'block' | 'lane' | NAME | access | '(' expr ')'
//
// TYPE(X) with a literal X is a constant, TYPE(expr) a cast; a bare N is an i32. Infix operators
// have C's precedence.
#pragma once

#include <string>
#include <string_view>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

std::string to_text(const Kernel &kernel);
std::string to_text(const Kernel &kernel, ExprRef expr);
// A statement with what it holds, ending in a newline.
std::string to_text(const Kernel &kernel, StmtRef stmt);
// Throws Error{Syntax} for a text that does not follow the grammar, Error{Type} for one that breaks
// a type rule, and Error{Limit} for one nested too deeply. Rules of structure are left to check()
// of kernel/verify.h.
Kernel parse_kernel(std::string_view text, const std::string &file = "<kernel>");

} // namespace tilefuse::kernel
