// SPDX-License-Identifier: Apache-2.0
// Files as a whole: read at once, written all or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilefuse::tool {

// The bytes of a regular file. Error{Io} when it cannot be read, Error{Limit} when it is larger
// than `limit_bytes`.
std::string read_file(const std::string &path, std::int64_t limit_bytes = std::int64_t{4} << 30);

struct OutputFile {
  std::string path;
  std::string bytes;
};

// Writes every file under a temporary name beside its place, then renames them all: after an
// Error{Io} none of the contents has changed. Missing folders are made.
void write_files(const std::vector<OutputFile> &files);

} // namespace tilefuse::tool
