// SPDX-License-Identifier: Apache-2.0
// The command line as a table: every verb with its options, grouped, and what is said where it is
// mistyped. Help, completion and manual pages are made from it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace tilefuse::tool {

std::unique_ptr<CLI::App> make_command_line();

// The verbs of a command line by name.
std::vector<std::string> verb_names(const CLI::App &app);
// The options of a verb with their dashes, "--image".
std::vector<std::string> option_names(const CLI::App &verb);

// Error{Unsupported} where there is no such verb.
const CLI::App &find_verb(const CLI::App &app, const std::string &name);

// Throws Error{Unsupported} where the first word is no verb: the parser would say that one is
// missing.
void check_verb(const CLI::App &app, int argc, const char *const *argv);
// What the parser complains of, in our words: which option there is not, and what may be meant.
Error explained(const CLI::App &app, const CLI::ParseError &mistake);

} // namespace tilefuse::tool
