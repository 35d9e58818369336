// SPDX-License-Identifier: Apache-2.0
// Scripts with which shells complete verbs, options and their values, made from the command line's
// table.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tilefuse::tool {

// `shell` is bash, zsh or fish.
std::string completion(const CLI::App &app, const std::string &shell);

} // namespace tilefuse::tool
