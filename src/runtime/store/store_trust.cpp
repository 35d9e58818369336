// SPDX-License-Identifier: Apache-2.0
#include "runtime/store/store_trust.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPrivateFolder = 0700;
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

std::string make_folders(const fs::path &folder) {
  struct stat there {};
  if (folder.empty() || ::stat(folder.c_str(), &there) == 0)
    return "";
  if (const std::string reason = make_folders(folder.parent_path()); !reason.empty())
    return reason;
  if (::mkdir(folder.c_str(), kPrivateFolder) == 0 || errno == EEXIST)
    return "";
  return fmt::format("the folder {} cannot be made: {}", folder.string(), std::strerror(errno));
}

void make_file(const fs::path &path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kPrivateFile);
  if (file >= 0)
    ::close(file);
}

std::string distrust(const fs::path &path, const struct stat &there) {
  if (there.st_uid != ::geteuid() && there.st_uid != 0)
    return fmt::format("{} belongs to another user (number {})", path.string(), there.st_uid);
  if ((there.st_mode & kOthersWrite) != 0)
    return fmt::format("{} can be written by others than its owner (mode {:04o}); need chmod go-w",
                       path.string(), there.st_mode & 07777);
  return "";
}

std::string distrust_folder(const fs::path &folder) {
  struct stat there {};
  const fs::path named = folder.empty() ? fs::path(".") : folder;
  if (::stat(named.c_str(), &there) != 0)
    return "";
  return distrust(named, there);
}

// What is not there is no reason.
std::string distrust_file(const fs::path &path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0)
    return "";
  if (!S_ISREG(there.st_mode))
    return path.string() + " is not a regular file";
  return distrust(path, there);
}

} // namespace

std::string make_private(const std::string &path) {
  const fs::path named(path);
  if (std::string reason = make_folders(named.parent_path()); !reason.empty())
    return reason;
  if (std::string reason = distrust_folder(named.parent_path()); !reason.empty())
    return reason;
  make_file(named);
  std::error_code failure;
  fs::path real = fs::canonical(named, failure); // SQLite's journals lie beside it
  if (failure)
    real = named;
  if (std::string reason = distrust_folder(real.parent_path()); !reason.empty())
    return reason;
  for (const char *suffix : {"", "-wal", "-shm", "-journal"})
    if (std::string reason = distrust_file(real.string() + suffix); !reason.empty())
      return reason;
  return "";
}

} // namespace tilefuse::runtime
