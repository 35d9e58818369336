// SPDX-License-Identifier: Apache-2.0
// Pictures in tar files, as WebDataset has them: members beside each other whose names are equal up to
// the first point of their last part are one sample, NAME.jpg (jpeg, png) and NAME.cls, the label as digits.
//
//   tar:train-000.tar,train-001.tar      or a pattern: tar:train-*.tar
//
// Files stay on disk; they are gone through once, at the beginning, for where members lie. Pictures are made
// [side, side, 3] as those of folders (picture_files.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace tilefuse::data {

// Error{Io} for files that are no tar, that are cut off, or a picture without a label, with its
// name; Error{Shape} for labels out of range.
std::unique_ptr<Source> open_tar(const std::vector<std::string> &patterns,
                                 const OpenOptions &options);

} // namespace tilefuse::data
