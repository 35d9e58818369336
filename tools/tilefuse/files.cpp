// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

namespace fs = std::filesystem;

// Removes what it holds unless the renames went through.
struct Temporaries {
  std::vector<fs::path> paths;
  Temporaries() = default;
  Temporaries(const Temporaries &) = delete;
  Temporaries &operator=(const Temporaries &) = delete;
  ~Temporaries() {
    std::error_code ignored;
    for (const fs::path &path : paths)
      fs::remove(path, ignored);
  }
};

void write_one(const fs::path &path, const std::string &bytes, const std::string &wanted) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    throw Error(ErrorCode::Io, "cannot write the file", wanted);
}

} // namespace

std::string read_file(const std::string &path, std::int64_t limit_bytes) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status))
    throw Error(ErrorCode::Io, "there is no such file", path);
  if (!fs::is_regular_file(status))
    throw Error(ErrorCode::Io, "not a regular file", path);
  const std::uintmax_t size = fs::file_size(path, failure);
  std::ifstream file(path, std::ios::binary);
  if (failure || !file)
    throw Error(ErrorCode::Io, "cannot read the file", path);
  if (size > static_cast<std::uintmax_t>(limit_bytes))
    throw Error(ErrorCode::Limit,
                fmt::format("the file has {} bytes, at most {} are read", size, limit_bytes), path);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size))
    throw Error(ErrorCode::Io, "cannot read the file", path);
  return bytes;
}

void write_files(const std::vector<OutputFile> &files) {
  Temporaries temporaries;
  std::error_code failure;
  for (const OutputFile &file : files) {
    const fs::path path(file.path);
    if (fs::is_directory(path, failure))
      throw Error(ErrorCode::Io, "cannot write the file: a folder has its name", file.path);
    if (path.has_parent_path())
      fs::create_directories(path.parent_path(), failure);
    temporaries.paths.emplace_back(fmt::format("{}.tmp-{}", file.path, ::getpid()));
    write_one(temporaries.paths.back(), file.bytes, file.path);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    fs::rename(temporaries.paths[i], files[i].path, failure);
    if (failure)
      throw Error(ErrorCode::Io, "cannot write the file", files[i].path);
  }
}

} // namespace tilefuse::tool
