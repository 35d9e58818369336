// SPDX-License-Identifier: Apache-2.0
#include "report/document.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tilefuse::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kLabel = 9; // columns of a label with the blank behind it

struct ToJson {
  ordered_json operator()(std::monostate) const { return nullptr; }
  ordered_json operator()(double number) const {
    return std::isfinite(number) ? ordered_json(number) : ordered_json(nullptr);
  }
  template <class Plain> ordered_json operator()(const Plain &value) const { return value; }
};

ordered_json json_of(const Value &value) { return std::visit(ToJson{}, value); }

ordered_json json_of(const Table &table) {
  ordered_json rows = ordered_json::array();
  for (const auto &row : table.rows) {
    ordered_json object = ordered_json::object();
    for (std::size_t c = 0; c < row.size(); ++c)
      object[table.columns[c].key] = json_of(row[c].value);
    rows.push_back(std::move(object));
  }
  return rows;
}

} // namespace

void Document::line(std::string label, std::string text, Fields fields) {
  parts_.emplace_back(Line{std::move(label), std::move(text), std::move(fields)});
}

void Document::table(std::string key, Table table) {
  parts_.emplace_back(NamedTable{std::move(key), std::move(table)});
}

void Document::data(std::string key, Table table) {
  parts_.emplace_back(NamedTable{std::move(key), std::move(table), false});
}

void Document::people(std::string text) { parts_.emplace_back(Text{{}, std::move(text)}); }

void Document::text(std::string key, std::string text) {
  parts_.emplace_back(Text{std::move(key), std::move(text)});
}

void Document::advise(std::string text) {
  parts_.emplace_back(Line{"advice", std::move(text), {}, true});
}

void Document::append(Document other) {
  for (Part &part : other.parts_)
    parts_.push_back(std::move(part));
}

const Table *Document::first_table() const {
  for (const Document::Part &part : parts_)
    if (const auto *named = std::get_if<NamedTable>(&part))
      return &named->table;
  return nullptr;
}

std::string to_text(const Document &document, const Style &style) {
  std::string text;
  for (const Document::Part &part : document.parts()) {
    if (const auto *line = std::get_if<Document::Line>(&part)) {
      if (!line->text.empty())
        text += wrap(fmt::format("{:<{}}{}", printable(line->label), kLabel, printable(line->text)),
                     style.is_wide ? 0 : style.width, kLabel) +
                "\n";
    } else if (const auto *named = std::get_if<Document::NamedTable>(&part)) {
      text += named->is_printed ? to_text(named->table, style) : "";
    } else {
      text += printable(std::get<Document::Text>(part).text);
    }
  }
  return text;
}

std::string to_json(const Document &document) {
  ordered_json object = ordered_json::object();
  for (const Document::Part &part : document.parts()) {
    if (const auto *line = std::get_if<Document::Line>(&part)) {
      if (line->is_advice)
        object["advice"].push_back(line->text);
      for (const auto &[key, value] : line->fields)
        object[key] = json_of(value);
    } else if (const auto *named = std::get_if<Document::NamedTable>(&part)) {
      object[named->key] = json_of(named->table);
    } else {
      const Document::Text &block = std::get<Document::Text>(part);
      if (!block.key.empty())
        object[block.key] = block.text;
    }
  }
  return object.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace tilefuse::report
