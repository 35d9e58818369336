// SPDX-License-Identifier: Apache-2.0
// How much room a text takes on a terminal, in columns: most characters take one, those of Chinese,
// Japanese and Korean and pictures two, combining marks none.
#pragma once

#include <cstddef>
#include <string>

namespace tilefuse::report {

// Columns of a text in UTF-8; a byte that is none of it counts as one.
std::size_t width_of(const std::string &text);
// The text, or as much of it as fits with "…" behind.
std::string cut(const std::string &text, std::size_t width);

} // namespace tilefuse::report
