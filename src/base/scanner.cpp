// SPDX-License-Identifier: Apache-2.0
#include "base/scanner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse {
namespace {

constexpr std::array<std::string_view, 10> kLongPunctuation = {
    "->", "..", "<=", ">=", "==", "!=", "<<", ">>", "&&", "||"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
// A byte of a UTF-8 sequence after its first does not start a column.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

char char_at(std::string_view text, std::size_t i) { return i < text.size() ? text[i] : '\0'; }

std::size_t skip_digits(std::string_view text, std::size_t i) {
  while (is_digit(char_at(text, i)))
    ++i;
  return i;
}

// A '.' ends a name unless a letter or digit follows, so that `n..8` is a name, `..` and a number.
std::size_t name_end(std::string_view text, std::size_t begin) {
  std::size_t i = begin + 1;
  while (i < text.size()) {
    const char c = text[i];
    const char after = char_at(text, i + 1);
    if (is_letter(c) || is_digit(c))
      ++i;
    else if (c == '.' && (is_letter(after) || is_digit(after)))
      ++i;
    else
      break;
  }
  return i;
}

bool starts_name(std::string_view text, std::size_t i) {
  const char c = char_at(text, i);
  const char after = char_at(text, i + 1);
  if (c == '%')
    return is_letter(after) || is_digit(after);
  if (c == '$')
    return is_digit(after);
  return is_letter(c);
}

struct Number {
  std::size_t end = 0;
  TokenKind kind = TokenKind::Integer;
};

Number scan_number(std::string_view text, std::size_t begin) {
  Number number{skip_digits(text, begin), TokenKind::Integer};
  if (char_at(text, number.end) == '.' && is_digit(char_at(text, number.end + 1))) {
    number = {skip_digits(text, number.end + 1), TokenKind::Float};
  }
  const char mark = char_at(text, number.end);
  if (mark == 'e' || mark == 'E') {
    const char sign = char_at(text, number.end + 1);
    const std::size_t digits = number.end + (sign == '+' || sign == '-' ? 2U : 1U);
    if (is_digit(char_at(text, digits)))
      number = {skip_digits(text, digits), TokenKind::Float};
  }
  return number;
}

// The position of the closing quote, or npos: a string does not cross a line's end.
std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '"')
      return i;
    if (text[i] == '\\')
      ++i;
  }
  return std::string_view::npos;
}

std::size_t punctuation_length(std::string_view rest) {
  for (const std::string_view mark : kLongPunctuation)
    if (rest.substr(0, mark.size()) == mark)
      return mark.size();
  std::size_t length = 1;
  while (length < rest.size() && is_continuation(rest[length]))
    ++length;
  return length;
}

int hex_digit(char c) {
  if (is_digit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

// Undoes the escape at text[i] == '\\'; moves i to its last character. False: no such escape.
bool unescape(std::string_view text, std::size_t &i, std::string &out) {
  const char c = char_at(text, ++i);
  if (c == 'n')
    out += '\n';
  else if (c == 't')
    out += '\t';
  else if (c == '"' || c == '\\')
    out += c;
  else if (c == 'x') {
    const int high = hex_digit(char_at(text, i + 1));
    const int low = hex_digit(char_at(text, i + 2));
    if (high < 0 || low < 0)
      return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  } else {
    return false;
  }
  return true;
}

} // namespace

Scanner::Scanner(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  advance();
}

Token Scanner::next() {
  const Token token = token_;
  advance();
  return token;
}

bool Scanner::is(std::string_view text) const {
  return (token_.kind == TokenKind::Punct || token_.kind == TokenKind::Name) && token_.text == text;
}

bool Scanner::accept(std::string_view text) {
  if (!is(text))
    return false;
  advance();
  return true;
}

Token Scanner::expect(std::string_view text) {
  if (!is(text))
    fail(fmt::format("'{}'", text));
  return next();
}

std::string Scanner::expect_name(std::string_view what) {
  if (token_.kind != TokenKind::Name)
    fail(what);
  return std::string(next().text);
}

std::int64_t Scanner::expect_integer(std::string_view what) {
  const bool negative = accept("-");
  if (token_.kind != TokenKind::Integer)
    fail(what);
  // The sign belongs to the digits: the smallest integer has no positive counterpart.
  const std::string digits = fmt::format("{}{}", negative ? "-" : "", token_.text);
  std::int64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc())
    fail(fmt::format("{} that fits in 64 bits", what));
  advance();
  return value;
}

double Scanner::expect_number(std::string_view what) {
  const bool negative = accept("-");
  double value = 0;
  if (is("inf"))
    value = std::numeric_limits<double>::infinity();
  else if (is("nan"))
    value = std::numeric_limits<double>::quiet_NaN();
  else if (token_.kind == TokenKind::Integer || token_.kind == TokenKind::Float) {
    const char *end = token_.text.data() + token_.text.size();
    const auto result = std::from_chars(token_.text.data(), end, value);
    if (result.ec == std::errc::result_out_of_range)
      fail(fmt::format("{} in range", what));
  } else {
    fail(what);
  }
  advance();
  return negative ? -value : value;
}

std::string Scanner::expect_string(std::string_view what) {
  if (token_.kind != TokenKind::String)
    fail(what);
  std::string out;
  for (std::size_t i = 0; i < token_.text.size(); ++i) {
    if (token_.text[i] != '\\')
      out += token_.text[i];
    else if (!unescape(token_.text, i, out))
      fail("one of the escapes \\\" \\\\ \\n \\t \\xHH");
  }
  advance();
  return out;
}

std::string Scanner::where(const Token &token) const {
  return fmt::format("{}:{}:{}", file_, token.line, token.column);
}

void Scanner::fail(std::string_view expected) const {
  constexpr std::size_t kShown = 40;
  std::string got = "the end of the text";
  if (token_.kind != TokenKind::End) {
    const bool cut = token_.text.size() > kShown;
    got = fmt::format("'{}{}'", token_.text.substr(0, kShown), cut ? "..." : "");
  }
  throw Error(ErrorCode::Syntax, fmt::format("expected {}, got {}", expected, got), where(token_));
}

void Scanner::advance() {
  const auto step = [this](std::size_t end) {
    for (; position_ < end; ++position_) {
      if (text_[position_] == '\n')
        ++line_, column_ = 1;
      else if (!is_continuation(text_[position_]))
        ++column_;
    }
  };
  const auto take = [&](TokenKind kind, std::size_t end) {
    token_ = {kind, text_.substr(position_, end - position_), line_, column_};
    step(end);
  };

  for (;;) {
    while (position_ < text_.size() && is_space(text_[position_]))
      step(position_ + 1);
    if (text_.substr(position_, 2) != "//")
      break;
    step(std::min(text_.find('\n', position_), text_.size()));
  }
  if (position_ >= text_.size())
    return take(TokenKind::End, position_);
  if (starts_name(text_, position_))
    return take(TokenKind::Name, name_end(text_, position_));
  if (is_digit(text_[position_])) {
    const Number number = scan_number(text_, position_);
    return take(number.kind, number.end);
  }
  if (text_[position_] != '"') {
    return take(TokenKind::Punct, position_ + punctuation_length(text_.substr(position_)));
  }
  const std::size_t close = string_end(text_, position_ + 1);
  if (close == std::string_view::npos) {
    take(TokenKind::Punct, position_ + 1);
    fail("a closing '\"' on the same line");
  }
  take(TokenKind::String, close + 1);
  token_.text = token_.text.substr(1, token_.text.size() - 2);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte >= 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

} // namespace tilefuse
