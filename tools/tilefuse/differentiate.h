// SPDX-License-Identifier: Apache-2.0
// The --gradient of verbs that take a program or a model.
#pragma once

#include <string>

#include "base/pass_context.h"
#include "program/program.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

// Declares it. `names` is empty where it is not given, "*" where it is given without names.
void add_gradient_option(CLI::App &verb, std::string &names);

// The gradient of the program's floating outputs by tensors: "*", every floating input; "weights",
// every floating constant of two dimensions or more; else inputs and constants by name, "A,B".
program::Program differentiate(const program::Program &program, const std::string &names,
                               PassContext *passes = nullptr);

} // namespace tilefuse::tool
