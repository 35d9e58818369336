// SPDX-License-Identifier: Apache-2.0
#include "data/tar_source.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/read_file.h"
#include "data/labels.h"
#include "data/picture_files.h"

namespace tilefuse::data {
namespace {

constexpr std::int64_t kBlock = 512; // bytes; a header is one, contents are filled up to whole ones
constexpr std::int64_t kMostMember = std::int64_t{1} << 28;

// An open file, read in parts by any number of threads.
class Shard {
public:
  explicit Shard(const std::string &path)
      : path_(path), bytes_(file_bytes(path)), number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0)
      throw Error(ErrorCode::Io, fmt::format("cannot read: {}", std::strerror(errno)), path);
  }
  ~Shard() { ::close(number_); }
  Shard(const Shard &) = delete;
  Shard &operator=(const Shard &) = delete;

  const std::string &path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }
  std::string read(std::int64_t begin, std::int64_t count) const {
    std::string bytes(static_cast<std::size_t>(count), '\0');
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t now = ::pread(number_, bytes.data() + done, bytes.size() - done,
                                  begin + static_cast<off_t>(done));
      if (now == 0 || (now < 0 && errno != EINTR))
        throw Error(ErrorCode::Io,
                    now == 0 ? "the file ends in the middle of a member"
                             : fmt::format("cannot read: {}", std::strerror(errno)),
                    path_);
      done += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
    }
    return bytes;
  }

private:
  std::string path_;
  std::int64_t bytes_;
  int number_;
};

struct Member {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

// A field of a header (POSIX.1-1988, ustar): up to its first zero.
std::string_view field(std::string_view header, std::size_t begin, std::size_t count) {
  const std::string_view all = header.substr(begin, count);
  return all.substr(0, all.find('\0'));
}

// Nothing where no number from 0 stands there.
std::optional<std::int64_t> octal(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  return failure == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
}

// The sum of a header's bytes, those of the sum itself as spaces.
std::int64_t sum_of(std::string_view header) {
  std::int64_t sum = 8 * ' ';
  for (std::size_t i = 0; i < header.size(); ++i)
    sum += i >= 148 && i < 156 ? 0 : static_cast<unsigned char>(header[i]);
  return sum;
}

// "path" of a pax header: lines "LENGTH KEY=VALUE".
std::string pax_path(std::string_view text) {
  constexpr std::string_view key = " path=";
  const std::size_t begin = text.find(key);
  if (begin == std::string_view::npos)
    return {};
  return std::string(text.substr(begin + key.size(), text.find('\n', begin) - begin - key.size()));
}

// The files among a shard's members, in order.
std::vector<Member> members_of(const Shard &shard) {
  std::vector<Member> members;
  std::string long_name; // of the next member
  for (std::int64_t place = 0; place + kBlock <= shard.bytes();) {
    const std::string header = shard.read(place, kBlock);
    if (header.find_first_not_of('\0') == std::string::npos)
      break;
    const std::optional<std::int64_t> size = octal(field(header, 124, 12));
    if (!size || octal(field(header, 148, 8)) != sum_of(header))
      throw Error(ErrorCode::Io, fmt::format("byte {} begins no member of a tar file", place),
                  shard.path());
    place += kBlock;
    const char kind = header[156];
    if (kind == 'x' || kind == 'L') { // pax, GNU
      const std::string text = shard.read(place, std::min(*size, kMostMember));
      long_name = kind == 'x' ? pax_path(text) : text.substr(0, text.find('\0'));
    } else if (kind == '0' || kind == '\0') {
      const std::string_view prefix = field(header, 345, 155);
      const std::string name =
          fmt::format("{}{}{}", prefix, prefix.empty() ? "" : "/", field(header, 0, 100));
      members.push_back({long_name.empty() ? name : std::exchange(long_name, {}), place, *size});
    }
    place += (*size + kBlock - 1) / kBlock * kBlock;
  }
  return members;
}

// Where a name's sample ends and what kind of member it is begins: behind "folder.d/0001".
std::pair<std::string, std::string> split(const std::string &name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t point = name.find('.', slash == std::string::npos ? 0 : slash);
  return point == std::string::npos ? std::pair(name, std::string())
                                    : std::pair(name.substr(0, point), name.substr(point + 1));
}

bool is_picture(const std::string &kind) {
  return kind == "jpg" || kind == "jpeg" || kind == "png";
}

struct Place {
  std::size_t shard = 0;
  Member picture;
};

class TarSource : public Source {
public:
  TarSource(const std::vector<std::string> &files, const OpenOptions &options)
      : side_(checked_side(options.side)) {
    for (const std::string &file : files)
      add(file);
    if (places_.empty())
      throw Error(ErrorCode::Io, "no member is a picture, NAME.jpg, .jpeg or .png", files.front());
    classes_ = count_classes(labels_, options.classes, files.front());
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(places_.size()); }
  PictureForm form() const override { return {.height = side_, .width = side_, .channels = 3}; }
  int classes() const override { return classes_; }
  bool decodes() const override { return true; }

  std::int32_t read(std::int64_t number, std::span<std::uint8_t> pixels) const override {
    const auto &[shard, picture] = places_[at(number)];
    const Shard &file = *shards_[shard];
    const std::string name = fmt::format("{}:{}", file.path(), picture.name);
    try {
      decode_to(file.read(picture.begin, picture.bytes), name, side_, pixels);
    } catch (const Error &error) {
      throw Error(error.code(), fmt::format("picture {}: {}", number, error.message()), name);
    }
    return labels_[at(number)];
  }

private:
  void add(const std::string &file) {
    shards_.push_back(std::make_unique<Shard>(file));
    const Shard &shard = *shards_.back();
    const std::vector<Member> members = members_of(shard);
    for (std::size_t begin = 0, end = 0; begin < members.size(); begin = end) {
      const std::string sample = split(members[begin].name).first;
      const Member *picture = nullptr, *label = nullptr;
      for (; end < members.size() && split(members[end].name).first == sample; ++end) {
        const std::string kind = split(members[end].name).second;
        if (is_picture(kind))
          picture = &members[end];
        else if (kind == "cls")
          label = &members[end];
      }
      if (picture != nullptr)
        add(shard, *picture, label);
    }
  }

  void add(const Shard &shard, const Member &picture, const Member *label) {
    const std::string where = fmt::format("{}:{}", shard.path(), picture.name);
    if (label == nullptr)
      throw Error(ErrorCode::Io, "the picture has no label, a member of its name that ends in .cls",
                  where);
    if (picture.bytes > kMostMember || picture.begin + picture.bytes > shard.bytes())
      throw Error(ErrorCode::Io, "the file ends in the middle of a member, or it is too large",
                  where);
    const std::string text = shard.read(label->begin, std::min<std::int64_t>(label->bytes, 32));
    std::int32_t number = -1;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || number < 0)
      throw Error(ErrorCode::Io, fmt::format("'{}' is no label, need a number from 0", label->name),
                  shard.path());
    places_.push_back({shards_.size() - 1, picture});
    labels_.push_back(number);
  }

  int side_;
  int classes_ = 0;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<Place> places_;
  std::vector<std::int32_t> labels_;
};

// In the order of names; the pattern itself where no file's name is like it.
std::vector<std::string> matches_of(const std::string &pattern) {
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOCHECK, nullptr, &found) != 0)
    throw Error(ErrorCode::Io, "cannot look for files", pattern);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

} // namespace

std::unique_ptr<Source> open_tar(const std::vector<std::string> &patterns,
                                 const OpenOptions &options) {
  std::vector<std::string> files;
  for (const std::string &pattern : patterns)
    for (std::string &path : matches_of(pattern))
      files.push_back(std::move(path));
  return std::make_unique<TarSource>(files, options);
}

} // namespace tilefuse::data
