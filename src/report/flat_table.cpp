// SPDX-License-Identifier: Apache-2.0
#include "report/flat_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilefuse::report {
namespace {

constexpr std::size_t kCell = 8;

class Writer {
public:
  explicit Writer(const FlatTable &table) : table_(table), name_width_(kCell) {
    for (const std::string &name : table.names)
      name_width_ = std::max(name_width_, name.size());
  }

  std::string run() {
    line("", "Range", [](const FlatColumn &column) { return column.name; });
    for (std::size_t i = 0; i < table_.names.size(); ++i)
      line(table_.names[i], fmt::format("{}", table_.ranges[i]),
           [&](const FlatColumn &column) { return fmt::format("{}", column.strides[i]); });
    line("off", "", [](const FlatColumn &column) { return fmt::format("{}", column.offset); });
    if (std::any_of(table_.columns.begin(), table_.columns.end(),
                    [](const FlatColumn &column) { return column.vector > 1; }))
      line("vec", "", [](const FlatColumn &column) { return fmt::format("{}", column.vector); });
    return std::move(text_);
  }

private:
  template <class Cell>
  void line(const std::string &name, const std::string &range, const Cell &cell) {
    std::string text = fmt::format("{:>{}}  {:>{}}", name, name_width_, range, kCell);
    for (const FlatColumn &column : table_.columns)
      text += fmt::format("  {:>{}}", cell(column), std::max(kCell, column.name.size()));
    text.resize(text.find_last_not_of(' ') + 1);
    text_ += text + "\n";
  }

  const FlatTable &table_;
  std::size_t name_width_;
  std::string text_;
};

} // namespace

std::string to_text(const FlatTable &table) { return Writer(table).run(); }

} // namespace tilefuse::report
