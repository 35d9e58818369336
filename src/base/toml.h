// SPDX-License-Identifier: Apache-2.0
// The TOML library as everything here uses it: read its header by this one alone. Its own checks of what it parses,
// which abort for texts such as "[,a]" where assertions are on, are off: it reports these mistakes as others.
#pragma once

#include <string>
#include <string_view>

#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

namespace tilefuse {

// Error{Syntax} at "file:line" for what is no TOML.
toml::table parse_toml(std::string_view text, const std::string &file);

} // namespace tilefuse
