// SPDX-License-Identifier: Apache-2.0
// The functions of a library: a function calls only functions that stand above
// it (in its file or in a file added before), so calls never recur.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "tile/function_table.h"

namespace tilefuse::tile {

// Parses and checks a text and adds its functions; their names in order. Throws
// Error{Syntax} with all mistakes, and then adds nothing.
std::vector<std::string> add_functions(FunctionTable &table, std::string_view text,
                                       const std::string &file);

} // namespace tilefuse::tile
