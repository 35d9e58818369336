// SPDX-License-Identifier: Apache-2.0
#include "base/read_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <span>

#include "base/error.h"

namespace tilefuse {

namespace fs = std::filesystem;
namespace {

std::size_t checked_bytes(const std::string &path, std::int64_t limit_bytes) {
  const std::int64_t size = file_bytes(path);
  if (size > limit_bytes)
    throw Error(ErrorCode::Limit,
                fmt::format("the file has {} bytes, at most {} are read", size, limit_bytes), path);
  return static_cast<std::size_t>(size);
}

void read_to(const std::string &path, std::span<char> bytes) {
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file)
    throw Error(ErrorCode::Io, "cannot read the file", path);
}

} // namespace

std::int64_t file_bytes(const std::string &path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status))
    throw Error(ErrorCode::Io, "there is no such file", path);
  if (!fs::is_regular_file(status))
    throw Error(ErrorCode::Io, "not a regular file", path);
  const std::uintmax_t size = fs::file_size(path, failure);
  if (failure)
    throw Error(ErrorCode::Io, "cannot read the file", path);
  return static_cast<std::int64_t>(size);
}

std::string read_file(const std::string &path, std::int64_t limit_bytes) {
  std::string bytes(checked_bytes(path, limit_bytes), '\0');
  read_to(path, bytes);
  return bytes;
}

Buffer read_large_file(const std::string &path, std::int64_t limit_bytes) {
  Buffer bytes(checked_bytes(path, limit_bytes));
  read_to(path, bytes.chars());
  return bytes;
}

} // namespace tilefuse
