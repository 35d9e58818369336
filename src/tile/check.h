// SPDX-License-Identifier: Apache-2.0
// Names, ranks and forms of one parsed function, before anything is bound:
//   - every name is defined above its use; each tensor is defined once, each
//   result is defined;
//   - a name whose expression holds no tensor is a number, usable wherever an
//   attribute is;
//   - subscripts hold indices (a-z), dimensions, attributes and numerals under
//   + - * / min max mod abs; sizes the same without indices;
//   - pointwise expressions hold tensors, numbers and calls with the right
//   number of arguments;
//   - where the rank of a tensor is known, subscripts match it.
#pragma once

#include <set>
#include <string>

#include "tile/diagnostics.h"
#include "tile/function_table.h"

namespace tilefuse::tile {

// `known`: functions that may be called. `below`: names of functions that stand
// further down in the same text.
void check_function(const Function &function, const FunctionTable &known,
                    const std::set<std::string> &below, Diagnostics &diagnostics);

} // namespace tilefuse::tile
