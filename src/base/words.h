// SPDX-License-Identifier: Apache-2.0
// Words of an enumeration in texts: one row per value, read in both directions.
//
//   constexpr auto kWords = words<Layout>({{Layout::Plain, "plain"}, {Layout::Odd, "odd"}});
//   kWords[Layout::Odd]   "odd"
//   kWords.find("plain")  Layout::Plain
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace tilefuse {

template <class Enum, std::size_t count> struct Words {
  std::array<std::pair<Enum, std::string_view>, count> rows;

  // The word of a value, which has a row.
  std::string_view operator[](Enum value) const {
    for (const auto &[each, word] : rows)
      if (each == value)
        return word;
    internal_error("a value of an enumeration without a word", __FILE__, __LINE__);
  }

  // The value of a word; nothing for other words.
  std::optional<Enum> find(std::string_view text) const {
    for (const auto &[value, word] : rows)
      if (word == text)
        return value;
    return std::nullopt;
  }
};

template <class Enum, std::size_t count>
constexpr Words<Enum, count> words(std::pair<Enum, std::string_view> const (&rows)[count]) {
  return {std::to_array(rows)};
}

} // namespace tilefuse
