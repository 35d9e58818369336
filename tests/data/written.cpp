// SPDX-License-Identifier: Apache-2.0
#include "data/written.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace tilefuse::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> gradient(int width, int height) {
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int value : {10 * x, 10 * y, 70})
        rgb.push_back(static_cast<std::uint8_t>(value));
  return rgb;
}

void append(void *text, void *bytes, int size) {
  static_cast<std::string *>(text)->append(static_cast<const char *>(bytes),
                                           static_cast<std::size_t>(size));
}

} // namespace

WrittenFolder::WrittenFolder() {
  std::string pattern = (fs::temp_directory_path() / "tilefuse_data_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorCode::Io, "no temporary folder");
  path_ = pattern;
}

WrittenFolder::~WrittenFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string WrittenFolder::write(const std::string &name, const std::string &bytes) const {
  fs::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path(name);
}

std::string gzipped(const std::string &bytes) {
  const WrittenFolder folder;
  const std::string path = folder.path("x.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint8_t cifar_byte(int number, int channel, int i) {
  return static_cast<std::uint8_t>(number * 31 + channel * 7 + i);
}

std::string cifar_record(int label, int number) {
  std::string record(1, static_cast<char>(label));
  for (int channel = 0; channel < 3; ++channel)
    for (int i = 0; i < 32 * 32; ++i)
      record += static_cast<char>(cifar_byte(number, channel, i));
  return record;
}

std::string idx(unsigned magic, const std::vector<unsigned> &sizes, const std::string &bytes) {
  std::string text;
  const auto add = [&](unsigned value) {
    for (int shift : {24, 16, 8, 0})
      text += static_cast<char>(value >> shift);
  };
  add(magic);
  for (unsigned size : sizes)
    add(size);
  return text + bytes;
}

std::string png(int width, int height) {
  std::string bytes;
  stbi_write_png_to_func(append, &bytes, width, height, 3, gradient(width, height).data(), 0);
  return bytes;
}

std::string jpeg(int width, int height) {
  std::string bytes;
  stbi_write_jpg_to_func(append, &bytes, width, height, 3, gradient(width, height).data(), 95);
  return bytes;
}

std::vector<std::uint8_t> read(const Source &source, std::int64_t number, std::int32_t *label) {
  std::vector<std::uint8_t> pixels(picture_bytes(source.form()));
  const std::int32_t found = source.read(number, pixels);
  if (label != nullptr)
    *label = found;
  return pixels;
}

std::string refusal(const std::function<void()> &call) {
  try {
    call();
  } catch (const Error &error) {
    return fmt::format("{}: {}", to_string(error.code()), error.message());
  }
  return "";
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace tilefuse::data
