// SPDX-License-Identifier: Apache-2.0
// A writer of HTML and SVG into which text enters escaped only. Names of nodes and tensors come from
// a model and are hostile: what is markup there is text here, control characters, marks that turn
// the direction of writing and bytes that are no UTF-8 become U+FFFD.
//
//   Markup out;
//   out.open("p", {{"class", "note"}}).text("a < b").close();     <p class="note">a &lt; b</p>
//
// Tags and names of attributes are literals of the program, never data.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tilefuse::report::html {

// As text or as the value of an attribute.
std::string escape(std::string_view text);
// At most two decimals, no trailing zeros: "12.5".
std::string number(double value);

struct Attribute {
  Attribute(std::string_view of, std::string with) : name(of), value(std::move(with)) {}
  Attribute(std::string_view of, const char *with) : name(of), value(with) {}
  template <typename Number>
  requires std::is_arithmetic_v<Number> Attribute(std::string_view of, Number with)
      : name(of), value(number(static_cast<double>(with))) {}
  std::string_view name;
  std::string value; // not escaped yet
};
using Attributes = std::initializer_list<Attribute>;

class Markup {
public:
  // <tag …>, until close().
  Markup &open(std::string_view tag, Attributes attributes = {});
  Markup &close();
  Markup &text(std::string_view text);
  // <tag …>text</tag>
  Markup &element(std::string_view tag, Attributes attributes, std::string_view text);
  // <tag …/> of SVG, or one that HTML never closes.
  Markup &leaf(std::string_view tag, Attributes attributes = {});
  // A part of the program, such as a style sheet, within its element.
  Markup &embed(std::string_view tag, std::string_view source);
  // What another writer has written.
  Markup &add(const Markup &other);

  // Requires that everything is closed.
  std::string take();

private:
  void begin(std::string_view tag, Attributes attributes);

  std::string text_;
  std::vector<std::string_view> open_;
};

} // namespace tilefuse::report::html
