// SPDX-License-Identifier: Apache-2.0
// `tilefuse man`: manual pages from the table of options.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "files.h"
#include "man_page.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

struct Arguments {
  std::string verb;
  std::string folder;
};

void man(const CLI::App &app, const Arguments &args) {
  if (args.folder.empty()) {
    const CLI::App &which = args.verb.empty() ? app : find_verb(app, args.verb);
    std::fputs(man_page(which).c_str(), stdout);
    return;
  }
  std::vector<OutputFile> files = {{args.folder + "/tilefuse.1", man_page(app)}};
  for (const CLI::App *verb : app.get_subcommands({}))
    files.push_back(
        {fmt::format("{}/tilefuse-{}.1", args.folder, verb->get_name()), man_page(*verb)});
  write_files(files);
}

} // namespace

void add_man(CLI::App &app) {
  auto args = std::make_shared<Arguments>();
  CLI::App *verb = app.add_subcommand("man", "Print a manual page");
  verb->footer("Examples:\n  tilefuse man run | man -l -\n  tilefuse man --all share/man/man1");
  auto *which = verb->add_option("verb", args->verb, "Of this verb; of the program if not given")
                    ->type_name("VERB");
  verb->add_option("--all", args->folder, "Write every page into this folder")
      ->type_name("DIR")
      ->excludes(which);
  verb->callback([&app, args] { man(app, *args); });
}

} // namespace tilefuse::tool
