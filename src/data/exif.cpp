// SPDX-License-Identifier: Apache-2.0
#include "data/exif.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace tilefuse::data {
namespace {

constexpr int kUpright = 1;
constexpr int kLast = 8;
constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::size_t kEntry = 12; // bytes of an entry of a TIFF directory

// Unsigned numbers of a TIFF block, in the byte order that it says.
class Tiff {
public:
  explicit Tiff(std::string_view bytes) : bytes_(bytes), is_little_(bytes.starts_with("II")) {}

  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes_[at + (is_little_ ? size - 1 - i : i)]);
    return value;
  }

private:
  std::string_view bytes_;
  bool is_little_;
};

int orientation_of(const Tiff &tiff) {
  const auto directory = tiff.number(4, 4);
  const auto count = directory ? tiff.number(*directory, 2) : std::nullopt;
  for (std::size_t i = 0; count && i < *count; ++i) {
    const std::size_t entry = std::size_t{*directory} + 2 + i * kEntry;
    const auto tag = tiff.number(entry, 2);
    if (!tag)
      break;
    const auto value = tiff.number(entry + 8, 2);
    if (*tag == kOrientationTag && value && *value >= kUpright && *value <= kLast)
      return static_cast<int>(*value);
  }
  return kUpright;
}

} // namespace

int exif_orientation(std::string_view jpeg) {
  constexpr std::string_view kHead("Exif\0\0", 6);
  std::size_t at = 2; // behind the start of the image
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(jpeg[i]); };
  while (at + 4 <= jpeg.size() && byte(at) == 0xff && byte(at + 1) != 0xda) {
    const std::size_t length = static_cast<std::size_t>(byte(at + 2)) << 8 | byte(at + 3);
    const std::string_view body = jpeg.substr(at + 4, length < 2 ? 0 : length - 2);
    if (byte(at + 1) == 0xe1 && body.starts_with(kHead))
      return orientation_of(Tiff(body.substr(kHead.size())));
    if (length < 2)
      break;
    at += 2 + length;
  }
  return kUpright;
}

Image upright(const Image &image, int orientation) {
  if (orientation <= kUpright || orientation > kLast)
    return image;
  // Of each orientation: whether rows and columns change places, then which run backwards.
  struct Turn {
    bool transposed, flipped_x, flipped_y;
  };
  constexpr std::array<Turn, kLast> kTurns = {{{false, false, false},
                                               {false, true, false},
                                               {false, true, true},
                                               {false, false, true},
                                               {true, false, false},
                                               {true, true, false},
                                               {true, true, true},
                                               {true, false, true}}};
  const Turn turn = kTurns[static_cast<std::size_t>(orientation - 1)];
  Image turned{image.width, image.height, std::vector<std::uint8_t>(image.rgb.size())};
  if (turn.transposed)
    std::swap(turned.width, turned.height);
  for (int y = 0; y < turned.height; ++y)
    for (int x = 0; x < turned.width; ++x) {
      const int across = turn.flipped_x ? turned.width - 1 - x : x;
      const int down = turn.flipped_y ? turned.height - 1 - y : y;
      const int from_x = turn.transposed ? down : across;
      const int from_y = turn.transposed ? across : down;
      const auto from = (static_cast<std::size_t>(from_y) * static_cast<std::size_t>(image.width) +
                         static_cast<std::size_t>(from_x)) *
                        kChannels;
      const auto to = (static_cast<std::size_t>(y) * static_cast<std::size_t>(turned.width) +
                       static_cast<std::size_t>(x)) *
                      kChannels;
      for (std::size_t c = 0; c < kChannels; ++c)
        turned.rgb[to + c] = image.rgb[from + c];
    }
  return turned;
}

} // namespace tilefuse::data
