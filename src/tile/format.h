// SPDX-License-Identifier: Apache-2.0
// The one way to write a Tile text: `tilefuse fmt`.
//
//   // Comments stay where they are: on lines of their own, or behind what they
//   follow. function conv1d(I[N, C, W], K[M, C, S]; SX = 1, PX = 0, OX) -> (O)
//   {
//     O[n, m, x : N, M, OX] = +(I[n, c, SX*x + s - PX] * K[m, c, s]);  // 2x
//     becomes 2*x
//   }
//
// A statement stands on a line of its own, broken after `=` and then at the
// outermost commas and operators where it is longer than 120 columns. A
// function of one statement stays on one line where it was and fits. Of several
// empty lines one is kept.
//
// parse(format(text)) equals parse(text), and format(format(text)) is
// format(text).
#pragma once

#include <string>
#include <string_view>

namespace tilefuse::tile {

// Throws Error{Syntax} for a text that does not parse; names are not looked at.
std::string format(std::string_view text, const std::string &file);

} // namespace tilefuse::tile
