// SPDX-License-Identifier: Apache-2.0
#include "base/own_folders.h"

#include <cstdlib>
#include <system_error>

#include <dlfcn.h>

namespace tilefuse {
namespace {

namespace fs = std::filesystem;

// The file that holds this code; empty where the loader knows no path of it.
fs::path own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void *>(&own_folders), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code failure;
  const fs::path file = fs::canonical(info.dli_fname, failure);
  return failure ? fs::path() : file;
}

} // namespace

std::vector<fs::path> own_folders() {
  std::vector<fs::path> folders;
  if (const char *folder = std::getenv("TILEFUSE_LIB"); folder != nullptr && *folder != '\0')
    folders.emplace_back(folder);
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  const fs::path library = own_file();
  if (!library.empty() && library != program) {
    folders.push_back(library.parent_path());
    folders.push_back(library.parent_path() / "tilefuse");
  }
  if (!failure) {
    folders.push_back(program.parent_path());
    folders.push_back(program.parent_path().parent_path() / "lib" / "tilefuse");
  }
  return folders;
}

} // namespace tilefuse
