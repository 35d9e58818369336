// SPDX-License-Identifier: Apache-2.0
// Pictures that are files of their own, JPEG or PNG. Each is decoded when it is read, resized so
// that its shorter side is the asked one, and its middle is taken: [side, side, 3].
//
//   folder:  DIR/cat/1.jpg, DIR/dog/7.png        classes are the sorted names of the folders
//   list:    lines "path label", paths from the folder of the list
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace tilefuse::data {

// Names of the class folders in DIR, sorted: label k is name k. Error{Io} where there are none.
std::vector<std::string> class_folders(const std::string &folder);

// Decodes a file's bytes, which `file` names in errors, into a picture [side, side, 3]. Errors are those of
// decode_image().
void decode_to(std::string_view bytes, const std::string &file, int side,
               std::span<std::uint8_t> pixels);
// `side`. Error{Limit} where pictures are not made so large.
int checked_side(int side);

// Error{Io} for an empty folder, Error{Shape} where its classes are not as many as asked for.
std::unique_ptr<Source> open_folder(const std::string &folder, const OpenOptions &options);
// Error{Io} with the line that is not "path label", Error{Shape} for labels out of range.
std::unique_ptr<Source> open_list(const std::string &file, const OpenOptions &options);

} // namespace tilefuse::data
