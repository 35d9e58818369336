// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "report/text_width.h"

namespace tilefuse::report {
namespace {

constexpr std::size_t kGap = 2;       // blanks between columns
constexpr std::size_t kLeastCut = 10; // characters that a cut column keeps

std::string one_line(const std::string &cell) {
  std::string text = printable(cell);
  std::replace(text.begin(), text.end(), '\n', '?');
  return text;
}

std::string padded(const std::string &text, std::size_t width, bool is_number) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return is_number ? blanks + text : text + blanks;
}

std::string coloured(const std::string &text, Tone tone) {
  switch (tone) {
  case Tone::Plain:
    return text;
  case Tone::Good:
    return "\x1b[32m" + text + "\x1b[0m";
  case Tone::Fair:
    return "\x1b[33m" + text + "\x1b[0m";
  case Tone::Bad:
    return "\x1b[31m" + text + "\x1b[0m";
  case Tone::Faint:
    return "\x1b[2m" + text + "\x1b[0m";
  }
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

// Which columns are printed, and how wide.
class Layout {
public:
  Layout(const Table &table, const Style &style) : table_(table), widths_(table.columns.size()) {
    for (std::size_t c = 0; c < widths_.size(); ++c)
      widths_[c] = natural_width(c);
    const bool is_limited = style.width > 0 && !style.is_wide;
    for (std::size_t c = 0; c < widths_.size(); ++c)
      if (table.columns[c].fit != Column::Fit::Data &&
          (!is_limited || table.columns[c].fit != Column::Fit::Wide))
        shown_.push_back(c);
    while (is_limited && total() > style.width && shrink(total() - style.width)) {
    }
  }

  template <class CellAt> std::string line(const CellAt &cell_at, bool is_coloured) const {
    std::string text;
    std::size_t blanks = 0;
    for (const std::size_t c : shown_) {
      const Cell &cell = cell_at(c);
      const std::string field =
          padded(cut(one_line(cell.text), widths_[c]), widths_[c], table_.columns[c].is_number);
      const std::size_t end = field.find_last_not_of(' ') + 1;
      const std::size_t begin = std::min(field.find_first_not_of(' '), end);
      if (end > 0) {
        text += std::string(blanks, ' ') + field.substr(0, begin);
        const std::string word = field.substr(begin, end - begin);
        text += is_coloured ? coloured(word, cell.tone) : word;
        blanks = 0;
      }
      blanks += field.size() - end + kGap;
    }
    return text + "\n";
  }

private:
  std::size_t natural_width(std::size_t c) const {
    std::size_t width = width_of(table_.columns[c].head);
    for (const auto *part : {&table_.rows, &table_.sums})
      for (const auto &row : *part)
        width = std::max(width, width_of(row[c].text));
    return width;
  }
  std::size_t total() const {
    return std::accumulate(
               shown_.begin(), shown_.end(), std::size_t{0},
               [&](std::size_t sum, std::size_t c) { return sum + widths_[c] + kGap; }) -
           (shown_.empty() ? 0 : kGap);
  }
  // Takes `excess` or what there is from the widest column that may be cut.
  bool shrink(std::size_t excess) {
    std::size_t *widest = nullptr;
    std::size_t second = kLeastCut;
    for (const std::size_t c : shown_) {
      if (table_.columns[c].fit != Column::Fit::Cut)
        continue;
      if (widest == nullptr || widths_[c] > *widest) {
        second = widest == nullptr ? kLeastCut : std::max(second, *widest);
        widest = &widths_[c];
      } else {
        second = std::max(second, widths_[c]);
      }
    }
    if (widest == nullptr || *widest <= kLeastCut)
      return false;
    const std::size_t step = *widest > second ? *widest - second : 1;
    *widest -= std::min(excess, step);
    return true;
  }

  const Table &table_;
  std::vector<std::size_t> widths_;
  std::vector<std::size_t> shown_;
};

} // namespace

Cell cell(std::string text, Tone tone) {
  Value value = text;
  return {std::move(text), std::move(value), tone};
}

Cell cell(std::int64_t number) { return {fmt::format("{}", number), number}; }

Cell cell(double number, int decimals) {
  return {fmt::format("{:.{}f}", number, decimals), number};
}

Cell share_cell(double share, int decimals, Tone tone) {
  return {fmt::format("{:.{}f}%", share * 100, decimals), share, tone};
}

std::string to_text(const Table &table, const Style &style) {
  const Layout layout(table, style);
  std::string text = layout.line(
      [&](std::size_t c) {
        return Cell{table.columns[c].head, {}, Tone::Faint};
      },
      style.is_coloured);
  for (const auto *part : {&table.rows, &table.sums})
    for (const auto &row : *part)
      text += layout.line([&](std::size_t c) -> const Cell & { return row[c]; }, style.is_coloured);
  return text;
}

std::string to_csv(const Table &table) {
  const auto line = [&](const auto &text_of) {
    std::string text;
    const char *before = "";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (table.columns[c].fit != Column::Fit::Data) {
        text += before + csv_cell(text_of(c));
        before = ",";
      }
    return text + "\n";
  };
  std::string text = line([&](std::size_t c) { return table.columns[c].head; });
  for (const auto &row : table.rows)
    text += line([&](std::size_t c) { return row[c].text; });
  return text;
}

std::string wrap(const std::string &text, std::size_t width, std::size_t indent) {
  if (width <= indent)
    return text;
  std::string result;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(' ', at);
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    if (begin == std::string::npos)
      break;
    const std::string blanks(begin - at, ' ');
    const std::string word = text.substr(begin, end - begin);
    if (column > indent && column + blanks.size() + width_of(word) > width) {
      result += "\n" + std::string(indent, ' ') + word;
      column = indent + width_of(word);
    } else {
      result += blanks + word;
      column += blanks.size() + width_of(word);
    }
    at = end;
    if (at < text.size() && text[at] == '\n') {
      result += '\n';
      column = 0;
      ++at;
    }
  }
  return result;
}

std::string printable(std::string text) {
  for (char &c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f)
      c = '?';
  }
  return text;
}

} // namespace tilefuse::report
