// SPDX-License-Identifier: Apache-2.0
#include "data/mnist.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "data/labels.h"
#include "data/packed_file.h"

namespace tilefuse::data {
namespace {

constexpr std::uint32_t kPictures = 0x803; // u8 of rank 3
constexpr std::uint32_t kLabels = 0x801;   // u8 of rank 1
constexpr int kLongestSide = 1 << 14;

std::uint32_t big_endian(std::span<const std::uint8_t> bytes) {
  std::uint32_t value = 0;
  for (std::uint8_t byte : bytes.first(4))
    value = value << 8 | byte;
  return value;
}

// The sizes that follow the magic number of an idx file.
std::vector<std::int64_t> read_sizes(PackedFile &file, std::uint32_t magic,
                                     const std::string &path) {
  const std::uint32_t found = big_endian(file.take(4));
  if (found != magic)
    throw Error(ErrorCode::Io,
                fmt::format("not an idx file of {}: it begins with {:08x}, need {:08x}",
                            magic == kPictures ? "pictures" : "labels", found, magic),
                path);
  const std::int64_t rank = magic & 0xff;
  const std::vector<std::uint8_t> head = file.take(4 * rank);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < rank; ++i)
    sizes.push_back(big_endian(std::span(head).subspan(at(4 * i))));
  return sizes;
}

class Mnist : public Source {
public:
  Mnist(PictureForm form, std::vector<std::uint8_t> pixels, std::vector<std::int32_t> labels,
        int classes)
      : form_(form), pixels_(std::move(pixels)), labels_(std::move(labels)), classes_(classes) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(labels_.size()); }
  PictureForm form() const override { return form_; }
  int classes() const override { return classes_; }

  std::int32_t read(std::int64_t number, std::span<std::uint8_t> pixels) const override {
    const std::size_t bytes = picture_bytes(form_);
    std::copy_n(pixels_.begin() + number * static_cast<std::int64_t>(bytes), bytes, pixels.begin());
    return labels_[at(number)];
  }

private:
  PictureForm form_;
  std::vector<std::uint8_t> pixels_; // (number, y, x)
  std::vector<std::int32_t> labels_;
  int classes_;
};

} // namespace

std::unique_ptr<Source> open_mnist(const std::string &images, const std::string &labels,
                                   const OpenOptions &options) {
  PackedFile image_file(images);
  const std::vector<std::int64_t> sizes = read_sizes(image_file, kPictures, images);
  const std::int64_t count = sizes[0];
  if (count < 1 || std::min(sizes[1], sizes[2]) < 1)
    throw Error(ErrorCode::Io, "the file has no pictures", images);
  std::int64_t bytes = 0;
  if (std::max(sizes[1], sizes[2]) > kLongestSide ||
      __builtin_mul_overflow(count, sizes[1] * sizes[2], &bytes) || bytes > options.most_bytes)
    throw Error(ErrorCode::Limit,
                fmt::format("{} pictures of {} x {} are too many or too large; at most {} bytes "
                            "are kept in memory",
                            count, sizes[1], sizes[2], options.most_bytes),
                images);
  PackedFile label_file(labels);
  const std::int64_t label_count = read_sizes(label_file, kLabels, labels)[0];
  if (label_count != count)
    throw Error(ErrorCode::Shape,
                fmt::format("{} labels for {} pictures of '{}'", label_count, count, images),
                labels);
  std::vector<std::uint8_t> pixels = image_file.take(bytes);
  image_file.expect_end();
  const std::vector<std::uint8_t> label_bytes = label_file.take(count);
  label_file.expect_end();
  std::vector<std::int32_t> numbers(label_bytes.begin(), label_bytes.end());
  const int classes = count_classes(numbers, options.classes, labels);
  const PictureForm form = {
      .height = static_cast<int>(sizes[1]), .width = static_cast<int>(sizes[2]), .channels = 1};
  return std::make_unique<Mnist>(form, std::move(pixels), std::move(numbers), classes);
}

} // namespace tilefuse::data
