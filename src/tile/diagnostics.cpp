// SPDX-License-Identifier: Apache-2.0
#include "tile/diagnostics.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::tile {
namespace {

constexpr std::size_t kMaxShown = 20;
constexpr std::size_t kMaxColumns = 120;

// Line `number` of a text, without its end.
std::string_view line_of(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// A line as its columns (one code point each); tabs and control characters
// become spaces, and what is no UTF-8 a '?'.
std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i + 1;
    while (end < line.size() && is_continuation(line[end]))
      ++end;
    const auto first = static_cast<unsigned char>(line[i]);
    const std::size_t expected = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first >= 0xF8 || is_continuation(line[i]) || end - i != expected)
      columns.emplace_back("?");
    else if (first < 0x20 || first == 0x7F)
      columns.emplace_back(" ");
    else
      columns.emplace_back(line.substr(i, expected));
    i = end;
  }
  return columns;
}

} // namespace

Diagnostics::Diagnostics(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)) {}

void Diagnostics::add(Position at, std::string message) {
  items_.push_back({at, std::move(message)});
}

std::string Diagnostics::where(Position at) const {
  return fmt::format("{}:{}:{}", file_, at.line, at.column);
}

std::string snippet(std::string_view text, Position at) {
  const std::vector<std::string> columns = columns_of(line_of(text, at.line));
  const std::size_t caret = static_cast<std::size_t>(at.column) - 1;
  const std::size_t begin = caret < kMaxColumns ? 0 : caret - kMaxColumns / 2;
  const std::size_t end = std::min(columns.size(), begin + kMaxColumns);
  std::string shown;
  for (std::size_t i = begin; i < end; ++i)
    shown += columns[i];
  return fmt::format("  {}\n  {}^", shown, std::string(caret - begin, ' '));
}

void Diagnostics::throw_if_any() const {
  if (items_.empty())
    return;
  std::vector<Item> items = items_;
  std::stable_sort(items.begin(), items.end(), [](const Item &a, const Item &b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
  std::string message = fmt::format("{}\n{}", items[0].message, snippet(text_, items[0].at));
  const std::size_t shown = std::min(items.size(), kMaxShown);
  for (std::size_t i = 1; i < shown; ++i)
    message += fmt::format("\n{}: error: {}\n{}", where(items[i].at), items[i].message,
                           snippet(text_, items[i].at));
  if (shown < items.size())
    message += fmt::format("\n{}: {} more mistakes are not shown", file_, items.size() - shown);
  throw Error(ErrorCode::Syntax, std::move(message), where(items[0].at));
}

} // namespace tilefuse::tile
