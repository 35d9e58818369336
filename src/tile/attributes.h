// SPDX-License-Identifier: Apache-2.0
// Values of a Tile function's attributes by name: integers, and numbers with a fraction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace tilefuse::tile {

using Attribute = std::variant<std::int64_t, double>;
using Attributes = std::map<std::string, Attribute>;

} // namespace tilefuse::tile
