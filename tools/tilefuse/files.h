// SPDX-License-Identifier: Apache-2.0
// Files as a whole: written all or not at all; base/read_file.h reads them. What is no regular file
// (a device, a FIFO) is written to and stays what it is; a symlink stays, and the file it leads to
// is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/read_file.h"

namespace tilefuse::tool {

struct OutputFile {
  std::string path;
  std::string bytes;
};

// A name for the file of place `k` that none of `taken` has, to which it is added: `wanted`, else with
// a number behind it.
std::string free_name(const std::string &wanted, std::size_t k, std::set<std::string> &taken);

// Writes every regular file under a temporary name beside its place, then what is none, then
// renames: after an Error{Io} no regular file's contents have changed. Replaced files keep their
// rights, and missing folders are made. The file behind the standard output is written through
// `stdout`, in order with what else is printed.
void write_files(const std::vector<OutputFile> &files);

} // namespace tilefuse::tool
