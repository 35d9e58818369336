// SPDX-License-Identifier: Apache-2.0
#include "report/html/document_html.h"

#include <algorithm>

namespace tilefuse::report::html {
namespace {

std::string_view tone_class(Tone tone) {
  switch (tone) {
  case Tone::Plain:
    return "";
  case Tone::Good:
    return "good";
  case Tone::Fair:
    return "fair";
  case Tone::Bad:
    return "bad";
  case Tone::Faint:
    return "faint";
  }
  return "";
}

std::string class_of(const Column &column, Tone tone) {
  std::string css = column.is_number ? "n" : "";
  const std::string_view of_tone = tone_class(tone);
  return css + (css.empty() || of_tone.empty() ? "" : " ") + std::string(of_tone);
}

void cell_html(Markup &out, const Column &column, const Cell &cell) {
  const std::string css = class_of(column, cell.tone);
  css.empty() ? out.open("td") : out.open("td", {{"class", css}});
  if (column.head == "#" && std::holds_alternative<std::int64_t>(cell.value))
    out.element("a", {{"href", "#k" + cell.text}}, cell.text);
  else
    out.text(cell.text);
  out.close();
}

// Lines become a list of terms; what stands between ends it.
class Lines {
public:
  explicit Lines(Markup &out) : out_(out) {}
  void add(const Document::Line &line) {
    if (line.text.empty())
      return;
    if (!is_open_)
      out_.open("dl");
    is_open_ = true;
    out_.element("dt", {}, line.label).element("dd", {}, line.text);
  }
  void end() {
    if (is_open_)
      out_.close();
    is_open_ = false;
  }

private:
  Markup &out_;
  bool is_open_ = false;
};

} // namespace

void table_html(Markup &out, const Table &table) {
  const auto is_shown = [&](std::size_t c) { return table.columns[c].fit != Column::Fit::Data; };
  out.open("div", {{"class", "wide"}}).open("table").open("thead").open("tr");
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (is_shown(c))
      out.element("th", {{"class", table.columns[c].is_number ? "n" : "s"}}, table.columns[c].head);
  out.close().close().open("tbody");
  for (const auto *rows : {&table.rows, &table.sums}) {
    for (const std::vector<Cell> &row : *rows) {
      rows == &table.sums ? out.open("tr", {{"class", "sum"}}) : out.open("tr");
      for (std::size_t c = 0; c < row.size(); ++c)
        if (is_shown(c))
          cell_html(out, table.columns[c], row[c]);
      out.close();
    }
  }
  out.close().close().close();
}

void document_html(Markup &out, const Document &document) {
  Lines lines(out);
  for (const Document::Part &part : document.parts()) {
    if (const auto *line = std::get_if<Document::Line>(&part)) {
      lines.add(*line);
      continue;
    }
    lines.end();
    if (const auto *named = std::get_if<Document::NamedTable>(&part)) {
      if (named->is_printed)
        table_html(out, named->table);
    } else {
      out.element("pre", {}, std::get<Document::Text>(part).text);
    }
  }
  lines.end();
}

} // namespace tilefuse::report::html
