// SPDX-License-Identifier: Apache-2.0
// Content hash for cache keys: XXH3, 128 bits, as 32 lower-case hex digits. Not cryptographic.
#pragma once

#include <string>
#include <string_view>

namespace tilefuse {

std::string content_hash(std::string_view bytes);

} // namespace tilefuse
