// SPDX-License-Identifier: Apache-2.0
#include "report/text_width.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tilefuse::report {
namespace {

constexpr std::string_view kEllipsis = "…";

struct Range {
  char32_t first, last;
};
// Blocks whose characters are all wide (Unicode, UAX 11: W and F).
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},  {0xa960, 0xa97f},
                           {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                           {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                           {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
// Combining marks, and what joins or turns characters without room of its own.
constexpr Range kNone[] = {{0x300, 0x36f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                           {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064},
                           {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

template <std::size_t N> bool is_in(const Range (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range &range) { return c >= range.first && c <= range.last; });
}

// One character of a text: where it ends, and its columns.
struct Character {
  std::size_t end = 0, columns = 1;
};

Character character_at(const std::string &text, std::size_t at) {
  constexpr unsigned kLead[] = {0x7f, 0x1f, 0x0f, 0x07}; // bits of the first of 1 to 4 bytes
  std::size_t end = at + 1;
  while (end < text.size() && end - at < std::size(kLead) && continues(text[end]))
    ++end;
  char32_t code = static_cast<unsigned char>(text[at]) & kLead[end - at - 1];
  for (std::size_t i = at + 1; i < end; ++i)
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  return {end, is_in(kNone, code) ? std::size_t{0} : is_in(kWide, code) ? 2u : 1u};
}

} // namespace

std::size_t width_of(const std::string &text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    columns += next.columns;
    at = next.end;
  }
  return columns;
}

std::string cut(const std::string &text, std::size_t width) {
  if (width_of(text) <= width)
    return text;
  std::size_t at = 0;
  for (std::size_t columns = 1; at < text.size();) {
    const Character next = character_at(text, at);
    if (columns + next.columns > width)
      break;
    columns += next.columns;
    at = next.end;
  }
  return text.substr(0, at) + std::string(width == 0 ? "" : kEllipsis);
}

} // namespace tilefuse::report
