// SPDX-License-Identifier: Apache-2.0
// Where the files lie that belong to this code: modules that it opens and programs that it starts.
#pragma once

#include <filesystem>
#include <vector>

namespace tilefuse {

// In the order in which they are looked through: $TILEFUSE_LIB; the folder of the shared library
// that holds this code, and `tilefuse` in it; the folder of the running program, and
// ../lib/tilefuse from there.
std::vector<std::filesystem::path> own_folders();

} // namespace tilefuse
