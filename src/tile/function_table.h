// SPDX-License-Identifier: Apache-2.0
// The functions of a library, by name (functions.h).
#pragma once

#include <map>
#include <string>

#include "tile/ast.h"

namespace tilefuse::tile {

using FunctionTable = std::map<std::string, Function>;

} // namespace tilefuse::tile
