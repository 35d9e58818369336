// SPDX-License-Identifier: Apache-2.0
#include "tile/lexer.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilefuse::tile {
namespace {

// Reports the first quote of each line that stands outside a comment. True: there is one.
bool report_quotes(std::string_view text, Diagnostics &diagnostics) {
  const std::size_t before = diagnostics.size();
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view code = text.substr(0, std::min(text.substr(0, end).find("//"), end));
    const std::size_t quote = code.find('"');
    if (quote != std::string_view::npos)
      diagnostics.add({line, static_cast<int>(quote) + 1}, "Tile has no strings");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return diagnostics.size() != before;
}

} // namespace

std::vector<Token> tokenize(std::string_view text, const std::string &file,
                            Diagnostics &diagnostics) {
  std::vector<Token> tokens;
  if (report_quotes(text, diagnostics))
    return {Token{}};
  for (Scanner scanner(text, file);;) {
    tokens.push_back(scanner.peek());
    if (scanner.at_end())
      return tokens;
    scanner.next();
  }
}

const Token &Cursor::peek(std::size_t ahead) const {
  return (*tokens_)[std::min(position_ + ahead, tokens_->size() - 1)];
}

Token Cursor::next() {
  const Token token = peek();
  position_ = std::min(position_ + 1, tokens_->size() - 1);
  return token;
}

bool Cursor::is(std::string_view text) const {
  const Token &token = peek();
  return (token.kind == TokenKind::Punct || token.kind == TokenKind::Name) && token.text == text;
}

bool Cursor::accept(std::string_view text) {
  if (!is(text))
    return false;
  next();
  return true;
}

std::string shown(const Token &token) {
  constexpr std::size_t kShown = 40;
  if (token.kind == TokenKind::End)
    return "the end of the text";
  const bool cut = token.text.size() > kShown;
  std::string text(token.text.substr(0, kShown));
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      c = ' ';
  return fmt::format("'{}{}'", text, cut ? "..." : "");
}

} // namespace tilefuse::tile
