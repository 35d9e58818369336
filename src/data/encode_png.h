// SPDX-License-Identifier: Apache-2.0
// Pictures into the bytes of PNG files.
#pragma once

#include <string>

#include "data/image.h"

namespace tilefuse::data {

// 8 bits of red, green and blue. Requires at least one pixel.
std::string encode_png(const Image &image);

} // namespace tilefuse::data
