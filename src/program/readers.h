// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// By tensor how often statements read it and outputs name it.
std::vector<int> count_readers(const Program &program);
// By tensor the statements that read it, one that reads it twice twice; the end of the statements
// for each time that outputs name it.
std::vector<std::vector<std::size_t>> readers_of(const Program &program);

// Whether an expression reads operand number `operand` of its map.
bool reads_operand(const Expr &expr, int operand);

} // namespace tilefuse::program
