// SPDX-License-Identifier: Apache-2.0
// `tilefuse fmt`: Tile texts in the one way to write them.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "files.h"
#include "tile/format.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;

struct Arguments {
  std::vector<std::string> files;
  bool check = false;
};

std::string standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

// Formats every file before any is written, so that a mistake in one leaves all as they are.
int format_files(const Arguments &args) {
  std::vector<OutputFile> changed;
  for (const std::string &file : args.files) {
    const bool is_input = file == "-";
    const std::string text = is_input ? standard_input() : read_file(file, kMaxBytes);
    const std::string name = is_input ? "<stdin>" : file;
    std::string formatted = tile::format(text, name);
    if (is_input && !args.check)
      std::fputs(formatted.c_str(), stdout);
    else if (formatted != text)
      changed.push_back({name, std::move(formatted)});
  }
  if (!args.check) {
    write_files(changed);
    return 0;
  }
  for (const OutputFile &file : changed)
    fmt::print("{}\n", file.path);
  return changed.empty() ? 0 : 1;
}

} // namespace

void add_fmt(CLI::App &app) {
  auto args = std::make_shared<Arguments>();
  CLI::App *verb = app.add_subcommand("fmt", "Format Tile texts, in place");
  verb->footer("Example:\n  tilefuse fmt ops/*.tile\n  tilefuse fmt --check ops/*.tile\n"
               "  tilefuse fmt - < conv.tile");
  verb->add_option("file", args->files,
                   "Tile texts; - is the standard input, written to the output")
      ->required();
  verb->add_flag("--check", args->check,
                 "Write nothing; name the files that are not formatted, "
                 "and exit with 1 if there are any");
  verb->callback([args] {
    if (const int code = format_files(*args))
      throw CLI::RuntimeError(code);
  });
}

} // namespace tilefuse::tool
