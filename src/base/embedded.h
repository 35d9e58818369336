// SPDX-License-Identifier: Apache-2.0
// The files of ops/ and devices/, and the style and script of pages, as they were when this was
// built (cmake/embed.cmake writes the definition): nothing needs them beside the program or the
// library.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace tilefuse {

struct EmbeddedFile {
  std::string_view path; // "ops/conv.tile"
  std::string_view text;
};

// All of them, by path.
std::span<const EmbeddedFile> embedded_files();

// Those of one folder itself, "devices".
inline std::vector<EmbeddedFile> embedded_files(std::string_view folder) {
  std::vector<EmbeddedFile> found;
  for (const EmbeddedFile &file : embedded_files())
    if (file.path.substr(0, file.path.rfind('/')) == folder)
      found.push_back(file);
  return found;
}

} // namespace tilefuse
