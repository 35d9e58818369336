// SPDX-License-Identifier: Apache-2.0
#include "base/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse {

AppendFile::AppendFile(std::string path, std::size_t kept, std::string what)
    : path_(std::move(path)), what_(std::move(what)), is_empty_(kept == 0) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0)
    cannot_write(errno);
  if (::ftruncate(file_, static_cast<off_t>(kept)) != 0) {
    const int failure = errno;
    ::close(file_);
    cannot_write(failure);
  }
}

AppendFile::~AppendFile() { ::close(file_); }

void AppendFile::cannot_write(int number) const {
  throw Error(ErrorCode::Io, fmt::format("cannot write the {}: {}", what_, std::strerror(number)),
              path_);
}

void AppendFile::append(std::string_view bytes) {
  is_empty_ = false;
  const off_t before = ::lseek(file_, 0, SEEK_END);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      const int failure = errno;
      if (::ftruncate(file_, before) != 0)
        cannot_write(errno);
      cannot_write(failure);
    }
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

} // namespace tilefuse
