// SPDX-License-Identifier: Apache-2.0
// A table of a report. The same cells become columns of text for people, CSV and JSON, so that none
// of them can say another number. Text that is too wide for a terminal loses the columns marked Wide
// and the ends of those marked Cut.
//
//    #     us  share  nodes
//    3   38.2  12.3%  Conv conv1 + Relu re…
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tilefuse::report {

// As programs read it; monostate is JSON's null.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// What a number says to people: a colour, where the terminal has some.
enum class Tone { Plain, Good, Fair, Bad, Faint };

struct Cell {
  std::string text; // for people and CSV
  Value value;      // for JSON
  Tone tone = Tone::Plain;
};
Cell cell(std::string text, Tone tone = Tone::Plain);
Cell cell(std::int64_t number);
// `decimals` behind the point for people; all of it for programs.
Cell cell(double number, int decimals);
// A share of 1, for people in percent.
Cell share_cell(double share, int decimals, Tone tone = Tone::Plain);

struct Column {
  // Whole columns stay, Cut ones may be shortened, Wide ones are left out of a narrow terminal, and
  // Data are for JSON alone.
  enum class Fit { Whole, Cut, Wide, Data };
  std::string head;       // for people and CSV
  std::string key;        // in JSON
  bool is_number = false; // right-aligned
  Fit fit = Fit::Whole;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows; // each as long as columns
  std::vector<std::vector<Cell>> sums; // below the rows, for people alone
};

// How text is printed.
struct Style {
  std::size_t width = 0; // of the terminal; 0: no limit
  bool is_wide = false;  // every column whole, wider than the terminal if need be
  bool is_coloured = false;
};

// One line per row; columns two spaces apart, no trailing blanks. Control characters become '?'.
std::string to_text(const Table &table, const Style &style = {});
// RFC 4180: cells with commas, quotes or line ends are quoted.
std::string to_csv(const Table &table);

// Lines of at most `width` characters, broken at blanks, all but the first behind `indent` blanks;
// the text itself where `width` is 0.
std::string wrap(const std::string &text, std::size_t width, std::size_t indent);
// Text that is safe to print on a terminal: control characters other than line ends become '?'.
std::string printable(std::string text);

} // namespace tilefuse::report
