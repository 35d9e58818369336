// SPDX-License-Identifier: Apache-2.0
#include "report/waiting.h"

#include <fmt/format.h>

namespace tilefuse::report {
namespace {

using Fit = Column::Fit;
using model::WaitingTensor;

Cell scaled(double value, double scale, int decimals) {
  return {fmt::format("{:.{}f}", value * scale, decimals), value};
}

Cell bytes_cell(std::int64_t bytes) {
  return {fmt::format("{:.1f}", static_cast<double>(bytes) * 1e-6), bytes};
}

// Nothing but the reason where a repetition is not possible.
std::vector<Cell> row(const WaitingTensor &tensor) {
  std::vector<Cell> cells = {{tensor.is_repeated ? "yes" : "no", tensor.is_repeated},
                             bytes_cell(tensor.bytes)};
  if (tensor.freed > 0) {
    cells.push_back(bytes_cell(tensor.freed));
    cells.push_back(scaled(tensor.seconds, 1e6, 1));
    cells.push_back(cell(tensor.seconds * 1e12 / static_cast<double>(tensor.freed), 2));
  } else {
    cells.insert(cells.end(), 3, Cell{});
  }
  cells.push_back(cell(tensor.reason));
  cells.push_back(cell(tensor.origin));
  return cells;
}

std::vector<Cell> sum_row(const std::string &bytes, const std::string &us,
                          const std::string &what) {
  return {{}, cell(bytes), {}, cell(us), {}, cell(what, Tone::Faint), {}};
}

} // namespace

Table waiting_table(std::span<const WaitingTensor> tensors, std::size_t most) {
  Table table{.columns = {{"again", "again"},
                          {"MB", "bytes", true},
                          {"freed", "freed_bytes", true},
                          {"us", "seconds", true},
                          {"us/MB", "us_per_mb", true},
                          {"reason", "reason"},
                          {"nodes", "origin", false, Fit::Cut}},
              .rows = {},
              .sums = {}};
  double seconds = 0, left = 0;
  std::size_t again = 0, kept = 0;
  for (const WaitingTensor &tensor : tensors) {
    if (tensor.is_repeated) {
      seconds += tensor.seconds;
      ++again;
    } else if (++kept > most) {
      left += static_cast<double>(tensor.bytes);
      continue;
    }
    table.rows.push_back(row(tensor));
  }
  if (kept > most)
    table.sums.push_back(sum_row(fmt::format("{:.1f}", left * 1e-6), {},
                                 fmt::format("{} more are kept", kept - most)));
  table.sums.push_back(sum_row({}, fmt::format("{:.1f}", seconds * 1e6),
                               fmt::format("{} are computed again", again)));
  return table;
}

} // namespace tilefuse::report
