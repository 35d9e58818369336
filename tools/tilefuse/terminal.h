// SPDX-License-Identifier: Apache-2.0
// What the terminal can show: its width, and whether it has colours. $COLUMNS says another width,
// also where the output is no terminal; NO_COLOR (no-color.org) turns colours off.
#pragma once

#include <cstddef>

namespace tilefuse::tool {

// Columns of the standard output; 0 where nothing limits them.
std::size_t output_width();
// Columns of the standard error, where progress is shown.
std::size_t error_width();
// Whether the standard output takes colours.
bool has_colours();

} // namespace tilefuse::tool
