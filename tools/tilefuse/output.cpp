// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <CLI/CLI.hpp>

#include <cstdio>

#include "terminal.h"

namespace tilefuse::tool {

void add_output_options(CLI::App &verb, OutputOptions &options, bool has_table) {
  verb.add_flag("--json", options.is_json, "Print the report as JSON");
  verb.add_flag("--wide", options.is_wide,
                "Print every column whole, however wide the terminal is");
  if (has_table)
    verb.add_option("--csv", options.csv, "Write the table there; - prints it, alone")
        ->type_name("FILE")
        ->excludes("--json");
}

void print(const report::Document &document, const OutputOptions &options,
           std::vector<OutputFile> files) {
  const report::Table *table = document.first_table();
  const bool is_alone = options.csv == "-";
  if (!options.csv.empty() && !is_alone && table != nullptr)
    files.push_back({options.csv, to_csv(*table)});
  write_files(files);
  const report::Style style = {
      .width = output_width(), .is_wide = options.is_wide, .is_coloured = has_colours()};
  std::string text;
  if (is_alone && table != nullptr)
    text = to_csv(*table);
  else
    text = options.is_json ? to_json(document) : to_text(document, style);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_to_stderr(const report::Table &table) {
  const std::string text = to_text(table, {.width = error_width()});
  std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace tilefuse::tool
