// SPDX-License-Identifier: Apache-2.0
// All tokens of a Tile text at once, and a cursor over them that never runs
// past the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/scanner.h"
#include "tile/diagnostics.h"

namespace tilefuse::tile {

// The tokens, the last of kind End; an escaped name (#x, $X) and a primed one
// (X') are one token. A text with a quote outside comments has none but that:
// Tile has no strings.
std::vector<Token> tokenize(std::string_view text, const std::string &file,
                            Diagnostics &diagnostics);

class Cursor {
public:
  // `tokens` must outlive the cursor and end with End.
  explicit Cursor(const std::vector<Token> &tokens) : tokens_(&tokens) {}

  const Token &peek(std::size_t ahead = 0) const;
  Token next();                         // the current token; moves on unless at the end
  bool is(std::string_view text) const; // the current token is this punctuation or name
  bool accept(std::string_view text);   // and then moves on
  bool at_end() const { return peek().kind == TokenKind::End; }
  Position at() const { return {peek().line, peek().column}; }

private:
  const std::vector<Token> *tokens_;
  std::size_t position_ = 0;
};

// The name of a Name token: without an escape that changes nothing.
std::string spelled(const Token &token);

// The current token as shown in messages: 'TEXT', cut when long, or "the end of
// the text".
std::string shown(const Token &token);

} // namespace tilefuse::tile
