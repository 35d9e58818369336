// SPDX-License-Identifier: Apache-2.0
// Tokens of one function header or statement as lines of text: spaces between
// them, and breaks where the line would be too long.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tile/lexer.h"

namespace tilefuse::tile {

// What stands on one line without breaks in between.
struct Word {
  std::string text;
  bool space = false;    // before it, where it does not begin a line
  int level = 0;         // of brackets around it
  bool breaks = false;   // a line may end before it
  std::size_t token = 0; // it comes from, as a position
};

// The words of a header or a statement. `2i` becomes 2*i, and `==(` of an
// assignment `= =(`.
std::vector<Word> words_of(std::span<const Token> tokens);

struct Indent {
  std::size_t first = 0; // columns before the first line
  std::size_t rest = 0;  // and before those after it
};

// Lines of at most kColumns columns where words allow; broken at the outermost
// level.
std::vector<std::string> lines_of(std::span<const Word> words, Indent indent);

inline constexpr std::size_t kColumns = 120;

} // namespace tilefuse::tile
