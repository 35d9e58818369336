// SPDX-License-Identifier: Apache-2.0
#include "data/picture_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "base/index.h"
#include "base/read_file.h"
#include "data/decode_image.h"
#include "data/labels.h"

namespace tilefuse::data {
namespace {

namespace fs = std::filesystem;

constexpr int kLongestSide = 1 << 13;
constexpr std::int64_t kMostFileBytes = std::int64_t{1} << 28;

struct Files {
  std::vector<std::string> paths;
  std::vector<std::int32_t> labels;
};

class PictureFiles : public Source {
public:
  PictureFiles(Files files, int side, int classes)
      : files_(std::move(files)), side_(side), classes_(classes) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(files_.paths.size()); }
  PictureForm form() const override { return {.height = side_, .width = side_, .channels = 3}; }
  int classes() const override { return classes_; }
  bool decodes() const override { return true; }

  std::int32_t read(std::int64_t number, std::span<std::uint8_t> pixels) const override {
    const std::string &path = files_.paths[at(number)];
    try {
      decode_to(read_file(path, kMostFileBytes), path, side_, pixels);
    } catch (const Error &error) {
      throw Error(error.code(), fmt::format("picture {}: {}", number, error.message()), path);
    }
    return files_.labels[at(number)];
  }

private:
  Files files_;
  int side_;
  int classes_;
};

std::unique_ptr<Source> make_source(Files files, const OpenOptions &options, int classes) {
  return std::make_unique<PictureFiles>(std::move(files), checked_side(options.side), classes);
}

bool is_picture(const fs::path &path) {
  std::string extension = path.extension().string();
  for (char &letter : extension)
    if (letter >= 'A' && letter <= 'Z')
      letter = static_cast<char>(letter - 'A' + 'a');
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

// Sorted names of what a folder has and `takes`; hidden names are left out.
template <typename Takes> std::vector<std::string> names_in(const fs::path &folder, Takes takes) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && takes(*entry))
      names.push_back(name);
  }
  if (failure)
    throw Error(ErrorCode::Io, fmt::format("cannot read the folder: {}", failure.message()),
                folder.string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> pictures_in(const fs::path &folder) {
  return names_in(folder, [](const fs::directory_entry &entry) {
    std::error_code ignored;
    return is_picture(entry.path()) && entry.is_regular_file(ignored);
  });
}

// Adds the picture that a line names. A path may have spaces.
void add_line(std::string_view line, const fs::path &folder, const std::string &where,
              Files &files) {
  const std::size_t end = line.find_last_not_of(" \t\r");
  if (end == std::string_view::npos)
    return;
  line = line.substr(0, end + 1);
  const std::size_t gap = line.find_last_of(" \t");
  const std::size_t path_end = line.find_last_not_of(" \t", gap);
  std::int32_t label = -1;
  const char *const last = line.data() + line.size();
  const bool is_pair = gap != std::string_view::npos && path_end != std::string_view::npos;
  const char *const first = is_pair ? line.data() + gap + 1 : last;
  const auto [stop, failure] = std::from_chars(first, last, label);
  if (failure != std::errc() || stop != last || label < 0)
    throw Error(ErrorCode::Io, "the line is not a path and a label from 0", where);
  files.paths.push_back((folder / line.substr(0, path_end + 1)).string());
  files.labels.push_back(label);
}

} // namespace

void decode_to(std::string_view bytes, const std::string &file, int side,
               std::span<std::uint8_t> pixels) {
  const Image image = decode_image(bytes, file);
  const Image middle = crop_center(resize_shorter(image, side), side, side);
  std::copy(middle.rgb.begin(), middle.rgb.end(), pixels.begin());
}

int checked_side(int side) {
  if (side < 1 || side > kLongestSide)
    throw Error(ErrorCode::Limit, fmt::format("pictures cannot be made {} x {}, need sides of 1 "
                                              "to {}",
                                              side, side, kLongestSide));
  return side;
}

std::vector<std::string> class_folders(const std::string &folder) {
  std::vector<std::string> names = names_in(folder, [](const fs::directory_entry &entry) {
    std::error_code ignored;
    return entry.is_directory(ignored);
  });
  if (names.empty())
    throw Error(ErrorCode::Io, "the folder has no class folders", folder);
  return names;
}

std::unique_ptr<Source> open_folder(const std::string &folder, const OpenOptions &options) {
  const std::vector<std::string> classes = class_folders(folder);
  const int count = static_cast<int>(classes.size());
  if (options.classes != 0 && options.classes != count)
    throw Error(ErrorCode::Shape,
                fmt::format("the folder has {} class folders, need {}", count, options.classes),
                folder);
  Files files;
  for (int label = 0; label < count; ++label) {
    const fs::path place = fs::path(folder) / classes[at(label)];
    const std::vector<std::string> names = pictures_in(place);
    if (names.empty())
      throw Error(ErrorCode::Io, "the class folder has no JPEG or PNG files", place.string());
    for (const std::string &name : names) {
      files.paths.push_back((place / name).string());
      files.labels.push_back(label);
    }
  }
  return make_source(std::move(files), options, count);
}

std::unique_ptr<Source> open_list(const std::string &file, const OpenOptions &options) {
  const std::string text = read_file(file, options.most_bytes);
  const fs::path folder = fs::path(file).parent_path();
  Files files;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    add_line(std::string_view(text).substr(begin, end - begin), folder,
             fmt::format("{}:{}", file, line), files);
    begin = end + 1;
  }
  if (files.paths.empty())
    throw Error(ErrorCode::Io, "the list has no pictures", file);
  const int classes = count_classes(files.labels, options.classes, file);
  return make_source(std::move(files), options, classes);
}

} // namespace tilefuse::data
