// SPDX-License-Identifier: Apache-2.0
#include "paint.h"

#include <algorithm>
#include <cmath>

namespace tilefuse::tool {
namespace {

using data::Image;

constexpr int kColourBits = 8;
constexpr int kColumns = 5; // of a letter; one more is blank
constexpr int kRows = 8;
constexpr char kFirst = ' ';
constexpr char kLast = '~';

// Columns of the letters from blank to ~ as two hexadecimal digits each, the top in the lowest bit.
constexpr std::string_view kFont =
    "000000000000005f00000007000700147f147f14242a7f2a12231308646236495620500008070300"
    "001c2241000041221c002a1c7f1c2a08083e08080080703000080808080800006060002010080402"
    "3e5149453e00427f400072494949462141494d331814127f1027454545393c4a4949314121110907"
    "3649494936464949291e000014000000403400000008142241141414141400412214080201590906"
    "3e415d594e7c1211127c7f494949363e414141227f4141413e7f494949417f090909013e41415173"
    "7f0808087f00417f41002040413f017f081422417f404040407f021c027f7f0408107f3e4141413e"
    "7f090909063e4151215e7f09192946264949493203017f01033f4040403f1f2040201f3f4038403f"
    "631408146303047804036159494d43007f4141410204081020004141417f04020102044040404040"
    "000307080020545478407f284444383844444428384444287f385454541800087e090218a4a49c78"
    "7f0804047800447d40002040403d007f1028440000417f40007c047804787c080404783844444438"
    "fc1824241818242418fc7c08040408485454542404043f44243c4040207c1c2040201c3c4030403c"
    "44281028444c9090907c4464544c440008364100000077000000413608000201020402";
static_assert(kFont.size() == std::size_t{2} * kColumns * (kLast - kFirst + 1));

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

bool is_inked(char letter, int column, int row) {
  const bool is_known = letter >= kFirst && letter <= kLast;
  const int place = 2 * (kColumns * ((is_known ? letter : '?') - kFirst) + column);
  const auto at = static_cast<std::size_t>(place);
  return column < kColumns && ((digit(kFont[at]) << 4 | digit(kFont[at + 1])) >> row & 1) != 0;
}

void fill(Image &image, int left, int top, int right, int bottom, const Colour &colour) {
  for (int y = std::max(top, 0); y < std::min(bottom, image.height); ++y)
    for (int x = std::max(left, 0); x < std::min(right, image.width); ++x)
      std::copy(colour.begin(), colour.end(),
                image.rgb.begin() + (std::ptrdiff_t{y} * image.width + x) * data::kChannels);
}

// Black or white, whichever is seen on a colour.
Colour ink_on(const Colour &colour) {
  const int luma = 3 * colour[0] + 6 * colour[1] + colour[2];
  const std::uint8_t value = luma > 1280 ? 0 : 255;
  return {value, value, value};
}

} // namespace

Colour class_colour(std::int64_t number) {
  Colour rgb = {0, 0, 0};
  for (int shift = kColourBits - 1; shift >= 0 && number > 0; --shift, number >>= 3)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[c] = static_cast<std::uint8_t>(rgb[c] | ((number >> c & 1) << shift));
  return rgb;
}

void draw_frame(Image &image, const Frame &frame, int line, const Colour &colour) {
  const auto [left, top, right, bottom] = frame;
  fill(image, left, top, right, top + line, colour);
  fill(image, left, bottom - line, right, bottom, colour);
  fill(image, left, top, left + line, bottom, colour);
  fill(image, right - line, top, right, bottom, colour);
}

void draw_disc(Image &image, int x, int y, int radius, const Colour &colour) {
  for (int row = -radius; row <= radius; ++row) {
    const int half = static_cast<int>(std::sqrt(radius * radius - row * row));
    fill(image, x - half, y + row, x + half + 1, y + row + 1, colour);
  }
}

void draw_label(Image &image, int x, int y, int scale, std::string_view text,
                const Colour &colour) {
  const int width = scale * ((kColumns + 1) * static_cast<int>(text.size()) + 1);
  const int height = scale * (kRows + 1);
  const int left = std::max(0, std::min(x, image.width - width));
  const int top = y - height >= 0 ? y - height : y;
  fill(image, left, top, left + width, top + height, colour);
  const Colour ink = ink_on(colour);
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int column = 0; column < kColumns; ++column)
      for (int row = 0; row < kRows; ++row) {
        const int at_x = left + scale * ((kColumns + 1) * static_cast<int>(i) + column + 1);
        const int at_y = top + scale * (row + 1);
        if (is_inked(text[i], column, row))
          fill(image, at_x, at_y, at_x + scale, at_y + scale, ink);
      }
}

} // namespace tilefuse::tool
