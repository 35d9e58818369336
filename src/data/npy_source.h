// SPDX-License-Identifier: Apache-2.0
// Pictures of u8 [N, H, W] or [N, H, W, C] in one .npy file, which stays on disk, and their labels,
// integers [N], in another.
#pragma once

#include <memory>
#include <string>

#include "data/source.h"

namespace tilefuse::data {

// Error{Io} for damage, Error{Type} for elements that are not read, Error{Limit} for large
// pictures, Error{Shape} where counts differ, for other shapes and for labels out of range.
std::unique_ptr<Source> open_npy(const std::string &images, const std::string &labels,
                                 const OpenOptions &options);

} // namespace tilefuse::data
