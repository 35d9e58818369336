// SPDX-License-Identifier: Apache-2.0
#include "paths.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

namespace fs = std::filesystem;

bool has_operators(const fs::path &folder) {
  std::error_code failure;
  return fs::is_directory(folder / "ops", failure) && fs::is_directory(folder / "devices", failure);
}

std::vector<fs::path> candidates() {
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  if (failure)
    return {};
  std::vector<fs::path> folders = {program.parent_path().parent_path() / "share" / "tilefuse"};
  std::ifstream marker(program.parent_path() / "tilefuse.share");
  std::string line;
  if (marker && std::getline(marker, line) && !line.empty())
    folders.emplace_back(line);
  return folders;
}

} // namespace

std::string share_directory() {
  if (const char *named = std::getenv("TILEFUSE_SHARE"); named != nullptr && *named != '\0') {
    if (has_operators(named))
      return named;
    throw Error(ErrorCode::Io,
                fmt::format("TILEFUSE_SHARE is '{}', which has no ops and devices folders", named));
  }
  std::string searched;
  for (const fs::path &folder : candidates()) {
    if (has_operators(folder))
      return folder.string();
    searched += (searched.empty() ? "" : ", ") + folder.string();
  }
  throw Error(ErrorCode::Io, "the operator library is missing; looked in " + searched, {},
              {"set TILEFUSE_SHARE to the folder that holds ops and devices"});
}

std::string ops_directory() { return (fs::path(share_directory()) / "ops").string(); }
std::string devices_directory() { return (fs::path(share_directory()) / "devices").string(); }

} // namespace tilefuse::tool
