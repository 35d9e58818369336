// SPDX-License-Identifier: Apache-2.0
// Drawing on pictures: frames, discs, and labels in a font of 5 x 8 pixels. What lies outside of the picture is left out.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "data/image.h"

namespace tilefuse::tool {

using Colour = std::array<std::uint8_t, 3>; // red, green, blue

// The colour of a class in PASCAL VOC: the bits of its number, spread over red, green and blue; 0 is black.
Colour class_colour(std::int64_t number);

// Pixels from left to right - 1 and from top to bottom - 1.
struct Frame {
  int left = 0, top = 0, right = 0, bottom = 0;
};
// The border of a frame, `line` pixels wide, inside of it.
void draw_frame(data::Image &image, const Frame &frame, int line, const Colour &colour);

// A disc of this radius around the middle of pixel (x, y).
void draw_disc(data::Image &image, int x, int y, int radius, const Colour &colour);

// Text on a bar of this colour whose lower left corner is (x, y), or its upper left one where there is no room above;
// `scale` pixels a dot. A byte that is no printable ASCII is '?'.
void draw_label(data::Image &image, int x, int y, int scale, std::string_view text,
                const Colour &colour);

} // namespace tilefuse::tool
