// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo.
#pragma once

#include <string>
#include <string_view>

#include "data/image.h"

namespace tilefuse::data {

// By how the bytes begin.
bool is_jpeg(std::string_view bytes);

// Grey, colour and CMYK, turned as the camera says (exif.h). Error{Io} where it is damaged or truncated, Error{Limit} past
// `most_pixels`; `file` names it.
Image decode_jpeg(std::string_view bytes, const std::string &file, std::int64_t most_pixels);

} // namespace tilefuse::data
