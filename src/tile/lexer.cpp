// SPDX-License-Identifier: Apache-2.0
#include "tile/lexer.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilefuse::tile {
namespace {

// Code points of a text.
int columns(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

// Reports the first quote of each line that stands outside a comment. True:
// there is one.
bool report_quotes(std::string_view text, Diagnostics &diagnostics) {
  const std::size_t before = diagnostics.size();
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view code = text.substr(0, std::min(text.substr(0, end).find("//"), end));
    const std::size_t quote = code.find('"');
    if (quote != std::string_view::npos)
      diagnostics.add({line, columns(code.substr(0, quote)) + 1}, "Tile has no strings");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return diagnostics.size() != before;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_adjacent(const Token &first, const Token &second) {
  return first.text.data() + first.text.size() == second.text.data();
}

// Joins `second` to the last token where the two spell one name.
bool join_name(std::vector<Token> &tokens, const Token &second) {
  if (tokens.empty() || !is_adjacent(tokens.back(), second))
    return false;
  Token &first = tokens.back();
  const bool escape = first.kind == TokenKind::Punct && (first.text == "#" || first.text == "$") &&
                      second.kind == TokenKind::Name && is_letter(second.text.front());
  const bool prime = first.kind == TokenKind::Name && first.text.back() != '\'' &&
                     second.kind == TokenKind::Punct && second.text == "'";
  if (!escape && !prime)
    return false;
  first.kind = TokenKind::Name;
  first.text = {first.text.data(), first.text.size() + second.text.size()};
  return true;
}

} // namespace

std::vector<Token> tokenize(std::string_view text, const std::string &file,
                            Diagnostics &diagnostics) {
  std::vector<Token> tokens;
  if (report_quotes(text, diagnostics))
    return {Token{}};
  for (Scanner scanner(text, file);;) {
    if (!join_name(tokens, scanner.peek()))
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

std::string spelled(const Token &token) {
  const std::string_view text = token.text;
  const auto in_case = [&](char escape, char first, char last) {
    return text.size() > 1 && text[0] == escape && text[1] >= first && text[1] <= last;
  };
  const bool needless = in_case('#', 'A', 'Z') || in_case('$', 'a', 'z');
  return std::string(needless ? text.substr(1) : text);
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
