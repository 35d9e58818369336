// SPDX-License-Identifier: Apache-2.0
// What `run` makes of a detector's outputs: boxes in pixels of each picture, as a table and drawn into the pictures.
#pragma once

#include <string>
#include <vector>

#include "detect.h"
#include "files.h"
#include "picture_options.h"
#include "report/table.h"

namespace tilefuse::tool {

// A picture's file and what was found in it: boxes cut at its sides, points wherever they lie.
struct Found {
  std::string file;
  std::vector<Box> boxes;
};

// Boxes of every picture, in pixels of the picture as it is seen (EXIF's turn done). `input` is the one that the
// pictures went into.
std::vector<Found> find_boxes(const PictureSettings &settings,
                              const std::vector<std::string> &files,
                              const program::HostTensor &input,
                              const std::vector<program::HostTensor> &outputs);

// A row per box: the picture, class, score, left, top, right and bottom, and of each point x and y.
report::Table box_table(const std::vector<Found> &found, const std::vector<std::string> &labels);

// Where --output goes: FILE.png for one picture with its boxes drawn, else as the outputs of any model do. Error{Shape|Io}
// when that cannot be.
void check_box_place(std::size_t pictures, std::size_t outputs, const std::string &where);
// The files of it; a folder gets NAME.png for each picture beside the outputs.
std::vector<OutputFile> box_files(const std::vector<Found> &found,
                                  const std::vector<std::string> &labels,
                                  const std::vector<program::HostTensor> &outputs,
                                  const std::string &where);

} // namespace tilefuse::tool
