// SPDX-License-Identifier: Apache-2.0
// Mistakes of one Tile text, collected and thrown at once:
//
//   conv.tile:3:9: error: 'Z' is not defined
//     Y = X + Z;
//             ^
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tile/ast.h"

namespace tilefuse::tile {

// The line of a position with a caret below its column, indented, without an
// end of line. Tabs and control characters are shown as a space each.
std::string snippet(std::string_view text, Position at);

class Diagnostics {
public:
  // `text` must outlive the collector.
  Diagnostics(std::string_view text, std::string file);

  void add(Position at, std::string message);
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }

  // Throws Error{Syntax} with every mistake in the order of the text, if there
  // is one.
  void throw_if_any() const;

private:
  struct Item {
    Position at;
    std::string message;
  };
  std::string where(Position at) const;

  std::string_view text_;
  std::string file_;
  std::vector<Item> items_;
};

} // namespace tilefuse::tile
