// SPDX-License-Identifier: Apache-2.0
// A file read as a whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/buffer.h"

namespace tilefuse {

// Size of a regular file in bytes. Error{Io} where there is none.
std::int64_t file_bytes(const std::string &path);

// The bytes of a regular file. Error{Io} when it cannot be read, Error{Limit} when it is larger
// than `limit_bytes`.
std::string read_file(const std::string &path, std::int64_t limit_bytes = std::int64_t{4} << 30);
// The same of a file that may be large.
Buffer read_large_file(const std::string &path, std::int64_t limit_bytes = std::int64_t{4} << 30);

} // namespace tilefuse
