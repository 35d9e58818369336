// SPDX-License-Identifier: Apache-2.0
#include "base/toml.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse {
namespace {

// Behind the end of a comment, a string or a letter that begins at `at`. A string without an end takes all that is left.
std::size_t token_end(std::string_view text, std::size_t at) {
  const char first = text[at];
  if (first == '#')
    return std::min(text.find('\n', at), text.size());
  if (first != '"' && first != '\'')
    return at + 1;
  const std::string quotes(text.substr(at, 3) == std::string(3, first) ? 3 : 1, first);
  for (at += quotes.size(); at < text.size(); ++at) {
    if (text.substr(at).starts_with(quotes))
      return at + quotes.size();
    if (quotes.size() == 1 && text[at] == '\n')
      return at;
    if (first == '"' && text[at] == '\\')
      ++at;
  }
  return text.size();
}

// TOML has letters beyond ASCII in strings and comments alone. Elsewhere version 3.3 of the library runs into what it
// holds for unreachable (is_non_ascii_horizontal_whitespace), so they never get there.
void check_letters(std::string_view text, const std::string &file) {
  for (std::size_t at = 0; at < text.size(); at = token_end(text, at))
    if (static_cast<unsigned char>(text[at]) >= 0x80)
      throw Error(
          ErrorCode::Syntax, "a letter that is not ASCII must stand in quotes",
          fmt::format(
              "{}:{}", file,
              1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')));
}

} // namespace

toml::table parse_toml(std::string_view text, const std::string &file) {
  check_letters(text, file);
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error &mistake) {
    throw Error(ErrorCode::Syntax, std::string(mistake.description()),
                fmt::format("{}:{}", file, mistake.source().begin.line));
  }
}

} // namespace tilefuse
