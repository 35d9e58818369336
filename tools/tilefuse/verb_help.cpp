// SPDX-License-Identifier: Apache-2.0
// `tilefuse help`: what --help prints.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "command_line.h"
#include "verb.h"

namespace tilefuse::tool {

void add_help(CLI::App &app) {
  auto name = std::make_shared<std::string>();
  CLI::App *verb = app.add_subcommand("help", "Print the help of a verb, or of the program");
  verb->add_option("verb", *name, "run, bench, …")->type_name("VERB");
  verb->callback([&app, name] {
    const CLI::App &which = name->empty() ? app : find_verb(app, *name);
    std::fputs(which.help().c_str(), stdout);
  });
}

} // namespace tilefuse::tool
