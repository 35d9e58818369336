// SPDX-License-Identifier: Apache-2.0
// Pictures out of the bytes of their files: JPEG, PNG, BMP, GIF.
#pragma once

#include <string>
#include <string_view>

#include "data/image.h"

namespace tilefuse::data {

// `file` names the bytes in errors: Error{Io} when they are no picture, or a JPEG or PNG that is
// damaged, Error{Limit} past `most_pixels`, which is at most kMaxPixels.
Image decode_image(std::string_view bytes, const std::string &file,
                   std::int64_t most_pixels = kMaxPixels);

} // namespace tilefuse::data
