// SPDX-License-Identifier: Apache-2.0
#include "report/html/markup.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::report::html {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Decoded {
  std::uint32_t point = 0;
  std::size_t bytes = 0; // 0: not UTF-8
};

// The character that begins at `at`, as RFC 3629 allows it.
Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t first = byte(at);
  if (first < 0x80)
    return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size())
    return {};
  std::uint32_t point = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80)
      return {};
    point = point << 6 | (byte(at + i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
  return point < kLeast[bytes] || point > 0x10ffff || is_surrogate ? Decoded{}
                                                                   : Decoded{point, bytes};
}

// Control characters other than tab and line end, marks of direction, and what is no character.
bool is_unsafe(std::uint32_t point) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) {
    return point >= low && point <= high;
  };
  if (point == '\n' || point == '\t')
    return false;
  return point < 0x20 || within(0x7f, 0x9f) || point == 0x61c || within(0x200b, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2060, 0x206f) || point == 0xfeff ||
         within(0xfff9, 0xfffb) || within(0xfdd0, 0xfdef) || (point & 0xfffeU) == 0xfffe;
}

std::string_view entity(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return {};
  }
}

} // namespace

std::string escape(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded character = decode(text, at);
    const std::string_view own = entity(text[at]);
    if (character.bytes == 0 || is_unsafe(character.point))
      result += kReplacement;
    else if (!own.empty())
      result += own;
    else
      result += text.substr(at, character.bytes);
    at += character.bytes == 0 ? 1 : character.bytes;
  }
  return result;
}

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text == "-0" ? "0" : text;
}

void Markup::begin(std::string_view tag, Attributes attributes) {
  text_ += '<';
  text_ += tag;
  for (const Attribute &attribute : attributes) {
    text_ += ' ';
    text_ += attribute.name;
    text_ += "=\"" + escape(attribute.value) + '"';
  }
}

Markup &Markup::open(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  text_ += '>';
  open_.push_back(tag);
  return *this;
}

Markup &Markup::close() {
  TILEFUSE_CHECK(!open_.empty(), "nothing is open");
  text_ += "</";
  text_ += open_.back();
  text_ += ">";
  open_.pop_back();
  return *this;
}

Markup &Markup::text(std::string_view text) {
  text_ += escape(text);
  return *this;
}

Markup &Markup::element(std::string_view tag, Attributes attributes, std::string_view text) {
  return open(tag, attributes).text(text).close();
}

Markup &Markup::leaf(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  text_ += "/>";
  return *this;
}

Markup &Markup::embed(std::string_view tag, std::string_view source) {
  open(tag);
  text_ += source;
  return close();
}

Markup &Markup::add(const Markup &other) {
  TILEFUSE_CHECK(other.open_.empty(), "elements are left open");
  text_ += other.text_;
  return *this;
}

std::string Markup::take() {
  TILEFUSE_CHECK(open_.empty(), "elements are left open");
  return std::exchange(text_, {});
}

} // namespace tilefuse::report::html
