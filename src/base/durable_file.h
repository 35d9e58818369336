// SPDX-License-Identifier: Apache-2.0
// Files written so that whatever happens to the process, the machine or the disk, a reader finds either what was there
// before or all of what was written.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tilefuse {

// What ends the name of a file that is still being written. A process that was killed leaves it behind.
inline constexpr std::string_view kUnfinished = ".part";

// Writes the pieces one after the other as `path`.part, brings them to the disk, gives the file its name and brings the
// folder's entry to the disk. Missing folders are made. Error{Io}, say of a full disk, leaves what was there before.
void write_durably(const std::string &path, std::span<const std::string_view> pieces);
void write_durably(const std::string &path, std::string_view bytes);

} // namespace tilefuse
