// SPDX-License-Identifier: Apache-2.0
// What this program is.
#pragma once

#include <string>

namespace tilefuse::tool {

// "tilefuse 0.1.0", and lines for the commit, the code generator's version and the back ends with
// what each lacks here.
std::string version_text();
// "0.1.0 (commit 1a2b3c4d)"
std::string version_line();

} // namespace tilefuse::tool
