// SPDX-License-Identifier: Apache-2.0
// Tables for people (aligned columns) and for programs (CSV), from the same rows.
#pragma once

#include <string>
#include <vector>

#include "model/session_stats.h"

namespace tilefuse::tool {

struct Table {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows; // each as long as head
  std::vector<bool> is_number;                // by column: right-aligned
};

// One line per row; columns two spaces apart, no trailing blanks. Control characters in cells
// become '?'.
std::string to_text(const Table &table);
// RFC 4180: cells with commas, quotes or line ends are quoted.
std::string to_csv(const Table &table);

// The kernels of a model in launch order: name, nodes, schedule, time, rate, share of the roofline.
Table kernel_table(const std::vector<model::KernelReport> &kernels);

// Text that is safe to print on a terminal: control characters other than line ends become '?'.
std::string printable(std::string text);

} // namespace tilefuse::tool
