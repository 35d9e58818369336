// SPDX-License-Identifier: Apache-2.0
// Programs from arbitrary bytes: a text whose functions are bound to small tensors and numbers that
// follow from the bytes themselves, so that an input alone repeats a run.
#pragma once

#include <functional>
#include <string_view>

#include "program/program.h"

namespace tilefuse::fuzz {

// Calls `use` with the program of every function of the text that binds. What is refused with an
// Error is passed over: a mistake of the text.
void for_each_program(std::string_view text, const std::function<void(program::Program &)> &use);

} // namespace tilefuse::fuzz
