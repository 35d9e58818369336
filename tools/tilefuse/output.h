// SPDX-License-Identifier: Apache-2.0
// How a verb's report is printed: as text that fits the terminal, as JSON, or its table as CSV.
#pragma once

#include <string>
#include <vector>

#include "files.h"
#include "report/document.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

struct OutputOptions {
  bool is_json = false;
  bool is_wide = false;
  std::string csv; // a file, or "-"
};

// --json and --wide; --csv where the report has a table for it. `options` must outlive parsing.
void add_output_options(CLI::App &verb, OutputOptions &options, bool has_table);

// The report on the standard output, and its first table where --csv says; "--csv -" prints the table
// alone. `files` are written with the table, all or none, before anything is printed.
void print(const report::Document &document, const OutputOptions &options,
           std::vector<OutputFile> files = {});

// A table on stderr, as wide as that is.
void print_to_stderr(const report::Table &table);

} // namespace tilefuse::tool
