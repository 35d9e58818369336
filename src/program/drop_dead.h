// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Drops statements, temporaries and constants that no output depends on; inputs stay. Tensors are
// numbered anew, in the same order.
Program drop_dead(Program program);

// The program with other statements; without what they leave dead where they `drop`. Verified.
Program with_statements(Program program, std::vector<Statement> statements, bool drop);

// A program of some of its statements, the last of which has the result; what they read and do not
// compute are its inputs.
Program alone(Program program, std::vector<Statement> statements);

} // namespace tilefuse::program
