// SPDX-License-Identifier: Apache-2.0
#include "train/log.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/read_file.h"

namespace tilefuse::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "step,epoch,images,rate,loss,top1,images_per_second,step_ms,"
                                     "input_wait_ms,exchange_wait_ms,gradient_norm,scale\n";

// In the order of the columns.
template <class Row> auto columns(Row &row) {
  return std::tie(row.step, row.epoch, row.images, row.rate, row.loss, row.top1,
                  row.images_per_second, row.step_ms, row.input_wait_ms, row.exchange_wait_ms,
                  row.gradient_norm, row.scale);
}

template <class Number> bool parse(std::string_view &line, Number &number) {
  const std::string_view text = line.substr(0, line.find(','));
  line.remove_prefix(std::min(line.size(), text.size() + 1));
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

// Where a row ends in a file, and the row.
using Placed = std::pair<std::size_t, LogRow>;

std::vector<Placed> parse_rows(std::string_view text, const std::string &path) {
  if (!text.starts_with(kHeader))
    throw Error(ErrorCode::Io, "not a log of training: its first line names other columns", path);
  std::vector<Placed> rows;
  std::size_t begin = kHeader.size();
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    std::string_view line = text.substr(begin, end - begin);
    LogRow row;
    const bool is_row =
        std::apply([&](auto &...number) { return (parse(line, number) && ...); }, columns(row));
    if (!is_row || !line.empty())
      throw Error(ErrorCode::Io, "a row of the log is not as many numbers as there are columns",
                  fmt::format("{}:{}", path, rows.size() + 2));
    rows.emplace_back(end + 1, row);
  }
  return rows;
}

// Bytes of the file that stay.
std::size_t kept_bytes(const std::string &path, std::int64_t resumed_step) {
  std::error_code failure;
  if (!fs::exists(path, failure))
    return 0;
  const std::string text = read_file(path);
  if (kHeader.starts_with(text)) // torn while its first line was written
    return 0;
  std::size_t bytes = kHeader.size();
  for (const auto &[end, row] : parse_rows(text, path)) {
    if (row.step > resumed_step)
      break;
    bytes = end;
  }
  return bytes;
}

} // namespace

Log::Log(const std::string &path, std::int64_t resumed_step)
    : file_(path, kept_bytes(path, resumed_step), "log") {
  if (file_.is_empty())
    file_.append(kHeader);
}

void Log::append(const LogRow &row) {
  file_.append(std::apply(
      [](const auto &...number) {
        return fmt::format("{}\n", fmt::join(std::tuple(number...), ","));
      },
      columns(row)));
}

std::vector<LogRow> read_log(const std::string &path) {
  std::vector<LogRow> rows;
  for (const auto &[end, row] : parse_rows(read_file(path), path))
    rows.push_back(row);
  return rows;
}

} // namespace tilefuse::train
