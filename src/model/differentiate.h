// SPDX-License-Identifier: Apache-2.0
// The gradient of a program by tensors that a user names.
#pragma once

#include <string>

#include "base/pass_context.h"
#include "program/program.h"

namespace tilefuse::model {

// The gradient of the program's floating outputs by tensors: "*", every floating input; "weights",
// every floating constant of two dimensions or more; else inputs and constants by name, "A,B".
program::Program differentiate(const program::Program &program, const std::string &names,
                               PassContext *passes = nullptr);

} // namespace tilefuse::model
