// SPDX-License-Identifier: Apache-2.0
// Tokens for every text level of tilefuse (Tile, program, nest, schedule, kernel): names, numbers,
// strings and punctuation, with line and column, `#`-free: a comment runs from `//` to the end of
// the line. Names may hold letters, digits, `_` and `.` after the first letter (`$`-prefixed names
// are allowed for IR values).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilefuse {

enum class TokenKind { End, Name, Integer, Float, String, Punct };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text; // as written; a string without its quotes, escapes not undone
  int line = 1;
  int column = 1;
};

class Scanner {
public:
  // `text` must outlive the scanner; `file` names it in errors.
  Scanner(std::string_view text, std::string file);

  const Token &peek() const { return token_; }
  Token next(); // returns the current token and moves on

  bool is(std::string_view text) const; // the current token is this punctuation or name
  bool accept(std::string_view text);   // and then moves on
  Token expect(std::string_view text);  // or throws Error{Syntax}
  std::string expect_name(std::string_view what);
  std::int64_t expect_integer(std::string_view what); // optional leading '-'
  double expect_number(std::string_view what);        // optional leading '-', also inf and nan
  std::string expect_string(std::string_view what);   // undoes \" \\ \n \t \xHH
  bool at_end() const { return token_.kind == TokenKind::End; }

  // "file:line:column" of a token.
  std::string where(const Token &token) const;
  // Throws Error{Syntax} at the current token: "expected WHAT, got 'TEXT'".
  [[noreturn]] void fail(std::string_view expected) const;

private:
  void advance();
  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0;
  int line_ = 1;
  int column_ = 1;
  Token token_;
};

// A text as a quoted, escaped token that expect_string reads back.
std::string quoted(std::string_view text);

} // namespace tilefuse
