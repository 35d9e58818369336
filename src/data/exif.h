// SPDX-License-Identifier: Apache-2.0
// How a camera was held, which it writes into a JPEG (Exif 2.3, tag 0x0112) instead of turning the
// pixels.
#pragma once

#include <string_view>

#include "data/image.h"

namespace tilefuse::data {

// 1 to 8, as Exif numbers them; 1, upright, where a JPEG says nothing or something else.
int exif_orientation(std::string_view jpeg);

// The picture as it is meant to be seen.
Image upright(const Image &image, int orientation);

} // namespace tilefuse::data
