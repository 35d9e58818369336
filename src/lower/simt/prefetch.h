// SPDX-License-Identifier: Apache-2.0
// Lines of packed inputs that are fetched ahead of the steps that read them: constants larger than
// a cache come from memory while something else is computed.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// At one point of the reduced indices, one line of what the next step of the lanes reads of
// `input`: all points of a step together fetch one part of as many as the lanes have copies, and
// each step over other output indices the next part. `base` is input_base().
StmtRef prefetch_next_step(const Context &cx, int input, ExprRef base);

} // namespace tilefuse::lower
