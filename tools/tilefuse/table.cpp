// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilefuse::tool {
namespace {

std::string one_line(const std::string &cell) {
  std::string text = printable(cell);
  std::replace(text.begin(), text.end(), '\n', '?');
  return text;
}

std::string csv_cell(const std::string &cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos)
    return cell;
  std::string quoted = "\"";
  for (char c : cell) {
    quoted += c;
    if (c == '"')
      quoted += c;
  }
  quoted += '"';
  return quoted;
}

std::string csv_line(const std::vector<std::string> &cells) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0)
      line += ',';
    line += csv_cell(cells[c]);
  }
  line += '\n';
  return line;
}

} // namespace

std::string printable(std::string text) {
  for (char &c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f)
      c = '?';
  }
  return text;
}

std::string to_text(const Table &table) {
  std::vector<std::vector<std::string>> lines = {table.head};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  std::vector<std::size_t> widths(table.head.size(), 0);
  for (auto &line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      line[c] = one_line(line[c]);
      widths[c] = std::max(widths[c], line[c].size());
    }
  }
  std::string text;
  for (const auto &line : lines) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c)
      row += table.is_number[c] ? fmt::format("{:>{}}  ", line[c], widths[c])
                                : fmt::format("{:<{}}  ", line[c], widths[c]);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string to_csv(const Table &table) {
  std::string text = csv_line(table.head);
  for (const auto &row : table.rows)
    text += csv_line(row);
  return text;
}

Table kernel_table(const std::vector<model::KernelReport> &kernels) {
  Table table{
      .head = {"us", "GFLOP/s", "GB/s", "roofline", "schedule", "chosen by", "kernel", "nodes"},
      .rows = {},
      .is_number = {true, true, true, true, false, false, false, false}};
  for (const model::KernelReport &kernel : kernels) {
    const double rate = kernel.seconds > 0 ? 1e-9 / kernel.seconds : 0;
    table.rows.push_back(
        {fmt::format("{:.1f}", kernel.seconds * 1e6), fmt::format("{:.1f}", kernel.flops * rate),
         fmt::format("{:.1f}", kernel.bytes * rate), fmt::format("{:.0f}%", kernel.roofline * 100),
         kernel.schedule, kernel.chosen_by, kernel.name, kernel.origin});
  }
  return table;
}

} // namespace tilefuse::tool
