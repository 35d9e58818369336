// SPDX-License-Identifier: Apache-2.0
// The page that leads through a dump: the files of the program as a whole, then those of each
// launch, level by level (model/dump.h has their names).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tilefuse::report::html {

// `origins` by launch; `files` of the folder, which the page lies in.
std::string dump_index(const std::string &model, std::span<const std::string> origins,
                       std::vector<std::string> files);

} // namespace tilefuse::report::html
