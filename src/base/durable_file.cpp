// SPDX-License-Identifier: Apache-2.0
#include "base/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1}
                                    << 30; // bytes of one write; Linux takes no more than 2 GiB

// An open file, closed at the end.
class Descriptor {
public:
  Descriptor(const fs::path &path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

  // False, and errno says why, when the disk takes no more.
  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(number_, bytes.data(), std::min(bytes.size(), kMostAtOnce));
      if (written < 0 && errno != EINTR)
        return false;
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    return true;
  }
  bool sync() const { return ::fsync(number_) == 0; }

private:
  int number_;
};

// 0, or the errno of what failed.
int write_pieces(const fs::path &path, std::span<const std::string_view> pieces) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.is_open())
    return errno;
  for (const std::string_view piece : pieces)
    if (!file.write(piece))
      return errno;
  return file.sync() ? 0 : errno;
}

// Some file systems have folders that cannot be synchronised (EINVAL): there, nothing is to be done.
int sync_folder(const fs::path &folder) {
  const Descriptor open(folder.empty() ? fs::path(".") : folder, O_RDONLY | O_DIRECTORY);
  return open.is_open() && (open.sync() || errno == EINVAL) ? 0 : errno;
}

[[noreturn]] void cannot_write(const std::string &path, const std::string &why) {
  throw Error(ErrorCode::Io, fmt::format("cannot write the file: {}", why), path);
}

} // namespace

void write_durably(const std::string &path, std::span<const std::string_view> pieces) {
  const fs::path folder = fs::path(path).parent_path();
  const std::string part = path + std::string(kUnfinished);
  std::error_code failure;
  if (!folder.empty())
    fs::create_directories(folder, failure);
  if (failure)
    cannot_write(path, failure.message());
  if (const int number = write_pieces(part, pieces); number != 0)
    failure = std::error_code(number, std::generic_category());
  else
    fs::rename(part, path, failure);
  if (failure) {
    std::error_code ignored;
    fs::remove(part, ignored);
    cannot_write(path, failure.message());
  }
  if (const int number = sync_folder(folder); number != 0)
    cannot_write(path, std::strerror(number));
}

void write_durably(const std::string &path, std::string_view bytes) {
  write_durably(path, std::span<const std::string_view>(&bytes, 1));
}

} // namespace tilefuse
