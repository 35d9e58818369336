// SPDX-License-Identifier: Apache-2.0
#include "data/npy_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/read_file.h"

namespace tilefuse::data {
namespace {

constexpr std::int64_t kMostHeadBytes = 1 << 16;

} // namespace

NpyFile::NpyFile(const std::string &path) : path_(path) {
  const std::int64_t bytes = file_bytes(path);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw Error(ErrorCode::Io, "cannot read the file", path);
  try {
    std::string head(static_cast<std::size_t>(std::min(bytes, kMostHeadBytes)), '\0');
    read_at(0, {reinterpret_cast<std::uint8_t *>(head.data()), head.size()});
    head_ = parse_npy_head(head, bytes, path);
  } catch (...) {
    ::close(descriptor_); // no destructor runs behind a constructor that throws
    throw;
  }
}

NpyFile::~NpyFile() { ::close(descriptor_); }

void NpyFile::read(std::int64_t begin, std::span<std::uint8_t> bytes) const {
  read_at(head_.begin + begin, bytes);
}

void NpyFile::read_at(std::int64_t place, std::span<std::uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), place);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw Error(ErrorCode::Io, std::string("cannot read the file: ") + std::strerror(errno),
                  path_);
    if (got == 0)
      throw Error(ErrorCode::Io, "the file has become shorter since it was opened", path_);
    place += got;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

} // namespace tilefuse::data
