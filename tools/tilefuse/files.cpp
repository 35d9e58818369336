// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;
constexpr mode_t kNewFile = 0666; // less the umask

[[noreturn]] void cannot_write(const std::string &wanted, std::string_view why) {
  throw Error(ErrorCode::Io, fmt::format("cannot write the file: {}", why), wanted);
}

// What one output is written to.
struct Place {
  enum class Kind { Replaced, Stream, StandardOutput };
  Kind kind = Kind::Replaced;
  fs::path path;                   // Replaced: without symlinks
  mode_t mode = 0;                 // Replaced: of the file that is there, 0: none is
  fs::path temporary = fs::path(); // Replaced: removed unless it took its place
  explicit Place(Kind is) : kind(is) {}
  Place(Place &&) = default;
  Place(const Place &) = delete;
  Place &operator=(const Place &) = delete;
  ~Place() {
    std::error_code ignored;
    if (!temporary.empty())
      fs::remove(temporary, ignored);
  }
};

bool is_standard_output(const struct stat &file) {
  struct stat output {};
  return ::fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev &&
         output.st_ino == file.st_ino;
}

// The file that symlinks lead to, whether it is there or not.
fs::path without_links(const std::string &wanted) {
  fs::path path(wanted);
  std::error_code failure;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, failure)); ++links) {
    if (links == kMaxLinks)
      cannot_write(wanted, "its symbolic links have no end");
    path = path.parent_path() / fs::read_symlink(path, failure);
  }
  return path;
}

Place find_place(const std::string &wanted) {
  struct stat there {};
  const bool is_there = ::stat(wanted.c_str(), &there) == 0;
  if (is_there && S_ISDIR(there.st_mode))
    cannot_write(wanted, "a folder has its name");
  if (is_there && is_standard_output(there))
    return Place(Place::Kind::StandardOutput);
  if (is_there && !S_ISREG(there.st_mode)) {
    Place stream(Place::Kind::Stream);
    stream.path = wanted;
    return stream;
  }
  Place place(Place::Kind::Replaced);
  place.path = without_links(wanted);
  place.mode = is_there ? there.st_mode & 07777 : 0;
  return place;
}

// Writes all bytes and closes the file.
void write_all(int file, std::string_view bytes, const std::string &wanted) {
  int failure = 0;
  while (!bytes.empty() && failure == 0) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      failure = errno;
  }
  if (::close(file) != 0 && failure == 0)
    failure = errno;
  if (failure != 0)
    cannot_write(wanted, std::strerror(failure));
}

void write_temporary(Place &place, const OutputFile &file, std::size_t number) {
  std::error_code failure;
  if (place.path.has_parent_path())
    fs::create_directories(place.path.parent_path(), failure);
  const fs::path name = fmt::format("{}.tmp-{}-{}", place.path.string(), ::getpid(), number);
  const int opened = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFile);
  if (opened < 0)
    cannot_write(file.path, std::strerror(errno));
  place.temporary = name;
  if (place.mode != 0)
    static_cast<void>(::fchmod(opened, place.mode));
  write_all(opened, file.bytes, file.path);
}

void write_stream(const Place &place, const OutputFile &file) {
  const int opened = ::open(place.path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (opened < 0)
    cannot_write(file.path, std::strerror(errno));
  write_all(opened, file.bytes, file.path);
}

void finish(Place &place, const OutputFile &file) {
  std::error_code failure;
  if (place.kind == Place::Kind::StandardOutput)
    std::fwrite(file.bytes.data(), 1, file.bytes.size(), stdout);
  if (place.kind != Place::Kind::Replaced)
    return;
  fs::rename(place.temporary, place.path, failure);
  if (failure)
    cannot_write(file.path, failure.message());
  place.temporary.clear();
}

} // namespace

std::string free_name(const std::string &wanted, std::size_t k, std::set<std::string> &taken) {
  std::string name = wanted;
  for (std::size_t number = k; !taken.insert(name).second; ++number)
    name = wanted + "_" + std::to_string(number);
  return name;
}

void write_files(const std::vector<OutputFile> &files) {
  std::vector<Place> places;
  for (const OutputFile &file : files)
    places.push_back(find_place(file.path));
  for (std::size_t i = 0; i < files.size(); ++i)
    if (places[i].kind == Place::Kind::Replaced)
      write_temporary(places[i], files[i], i);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (places[i].kind == Place::Kind::Stream)
      write_stream(places[i], files[i]);
  for (std::size_t i = 0; i < files.size(); ++i)
    finish(places[i], files[i]);
}

} // namespace tilefuse::tool
