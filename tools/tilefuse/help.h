// SPDX-License-Identifier: Apache-2.0
// Help texts: options in groups by what they are about, lines that fit the terminal, values by plain
// names (N, FILE, f16|bf16).
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class FormatterBase;
class Option;
} // namespace CLI

namespace tilefuse::tool {

std::shared_ptr<CLI::FormatterBase> help_formatter();

// Puts the options of a verb into groups, by their names.
void group_options(CLI::App &verb);

// What stands behind an option's name: "N", "f16|bf16", or nothing for a flag.
std::string value_name(const CLI::Option &option);

} // namespace tilefuse::tool
