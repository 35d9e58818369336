// SPDX-License-Identifier: Apache-2.0
// Manual pages (man 7) made from the command line's table.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tilefuse::tool {

// The page of a verb, tilefuse-VERB(1), or of the program, tilefuse(1).
std::string man_page(const CLI::App &app);

} // namespace tilefuse::tool
