// SPDX-License-Identifier: Apache-2.0
#include "data/augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "data/order.h"

namespace tilefuse::data {
namespace {

// What one picture is changed by.
struct Draw {
  int down = 0;  // first row of the crop, from the picture's
  int right = 0; // first column
  bool is_mirrored = false;
};

Draw draw(const Augment &augment, ThreefryWords bits) {
  const auto places = static_cast<std::uint32_t>(2 * augment.pad_crop + 1);
  return {.down = static_cast<int>(number_below(places, bits[0])) - augment.pad_crop,
          .right = static_cast<int>(number_below(places, bits[1])) - augment.pad_crop,
          .is_mirrored = augment.flip && (bits[1] & 1) != 0}; // number_below reads the high bits
}

// A row as it is from pixel `right` on; zeros where there is none.
void crop_row(std::uint8_t *to, const std::uint8_t *from, std::size_t row, std::ptrdiff_t right) {
  const std::size_t kept = row - static_cast<std::size_t>(std::abs(right));
  const std::size_t gap = row - kept;
  std::memmove(right < 0 ? to + gap : to, right < 0 ? from : from + gap, kept);
  std::memset(right < 0 ? to : to + kept, 0, gap);
}

void crop(const Draw &draw, const PictureForm &form, std::uint8_t *pixels) {
  const std::ptrdiff_t right = std::ptrdiff_t{draw.right} * form.channels;
  const std::ptrdiff_t row = std::ptrdiff_t{form.width} * form.channels;
  for (int i = 0; i < form.height; ++i) { // rows that others come from are written after these
    const int y = draw.down >= 0 ? i : form.height - 1 - i;
    const int source = y + draw.down;
    std::uint8_t *const to = pixels + y * row;
    if (source < 0 || source >= form.height)
      std::memset(to, 0, static_cast<std::size_t>(row));
    else
      crop_row(to, pixels + source * row, static_cast<std::size_t>(row), right);
  }
}

void mirror(const PictureForm &form, std::uint8_t *pixels) {
  const std::ptrdiff_t channels = form.channels;
  const std::ptrdiff_t row = form.width * channels;
  for (int y = 0; y < form.height; ++y)
    for (int x = 0; x < form.width / 2; ++x) {
      std::uint8_t *const left = pixels + y * row + x * channels;
      std::swap_ranges(left, left + channels, pixels + (y + 1) * row - (x + 1) * channels);
    }
}

} // namespace

void check(const Augment &augment, const PictureForm &form) {
  const int most = std::min(form.height, form.width);
  if (augment.pad_crop < 0 || augment.pad_crop > most)
    throw Error(ErrorCode::Shape,
                fmt::format("a border of {} zeros around pictures of {} x {}, need 0 to {}",
                            augment.pad_crop, form.height, form.width, most));
}

void augment(const Augment &augment, const PictureForm &form, std::uint64_t seed,
             std::int64_t epoch, std::int64_t sample, std::span<std::uint8_t> pixels) {
  const ThreefryWords counter = to_words(static_cast<std::uint64_t>(sample));
  const Draw drawn = draw(augment, threefry(epoch_key(seed, epoch), counter));
  if (drawn.down != 0 || drawn.right != 0)
    crop(drawn, form, pixels.data());
  if (drawn.is_mirrored)
    mirror(form, pixels.data());
}

} // namespace tilefuse::data
