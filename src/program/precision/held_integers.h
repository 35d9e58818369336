// SPDX-License-Identifier: Apache-2.0
// Integers of 8 bits in the expression of a kernel, as floats as long as that is exact:
//
//   f32(i32(u8(round($0) + 113)) + -113)   round(min(max($0, -113), 142))      only read back
//   f32(i32($1) + -7)                      f32($1) + -7                        $1 of u8
//   u8(round($0) + 113)                    u8(round(min(max($0, -113), 142)) + 113)
//
// What is held within bounds is rounded by two additions (lower/post.h), where devices are slow to
// round and to convert.
#pragma once

#include "program/expr.h"

namespace tilefuse::program {

// The same numbers, for every value that is one.
Expr held_integers(const Expr &expr);

} // namespace tilefuse::program
