// SPDX-License-Identifier: Apache-2.0
// What a verb reports: lines, tables and texts in order. A document prints as text for people, or as
// one JSON object with the fields of its lines and a list of objects for each table; its first table
// alone prints as CSV.
//
//   device   cpu (cpu_avx2; default)         {"device": "cpu", "target": "cpu_avx2",
//    #     us  share  nodes            ⇔      "kernels": [{"number": 0, "seconds": 3.82e-05, …}, …]}
//    0   38.2  12.3%  Conv conv1
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/table.h"

namespace tilefuse::report {

using Fields = std::vector<std::pair<std::string, Value>>;

class Document {
public:
  struct Line {
    std::string label;
    std::string text;
    Fields fields;
    bool is_advice = false;
  };
  struct NamedTable {
    std::string key;
    Table table;
    bool is_printed = true;
  };
  struct Text {
    std::string key; // empty: for people alone
    std::string text;
  };
  using Part = std::variant<Line, NamedTable, Text>;

  // "label    text", in JSON the fields; a line without text is for programs alone.
  void line(std::string label, std::string text, Fields fields = {});
  void table(std::string key, Table table);
  // A table for JSON and CSV, of what people read otherwise.
  void data(std::string key, Table table);
  // Text of several lines, in JSON a string.
  void text(std::string key, std::string text);
  // Text of several lines for people alone.
  void people(std::string text);
  // What to try: "advice   text"; in JSON a list of strings.
  void advise(std::string text);
  // The parts of another document behind these.
  void append(Document other);

  const std::vector<Part> &parts() const { return parts_; }
  // Null where there is none.
  const Table *first_table() const;

private:
  std::vector<Part> parts_;
};

// Control characters other than line ends become '?'.
std::string to_text(const Document &document, const Style &style = {});
// One object and a line end. Names that are no UTF-8 have U+FFFD where they are not.
std::string to_json(const Document &document);

} // namespace tilefuse::report
