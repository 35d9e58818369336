// SPDX-License-Identifier: Apache-2.0
// Who may have written a file whose contents are believed: the kernel cache holds machine code that
// runs as the user. What is made is the user's alone (folders 0700, files 0600). What is there must
// belong to the user or to root, be a regular file, and be writable for no group and no others;
// so must its folder, where others could put a file in its place, and SQLite's journals beside it.
#pragma once

#include <string>

namespace tilefuse::runtime {

// Makes the folders and the file, empty, where they are missing. Returns why the file is not to be
// used, or an empty text: "/tmp can be written by others than its owner (mode 1777); …".
std::string make_private(const std::string &path);

} // namespace tilefuse::runtime
