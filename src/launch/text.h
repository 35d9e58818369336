// SPDX-License-Identifier: Apache-2.0
// The text of a launch (launch/launch.h): printed and parsed. Who chose a schedule, and where a
// group came from, are not part of it.
#pragma once

#include <string>
#include <string_view>

#include "launch/launch.h"

namespace tilefuse::launch {

std::string to_text(const Launch &launch);
// Throws Error (Syntax) with the line that is wrong.
Launch parse_launch(std::string_view text, const std::string &file = "<launch>");

} // namespace tilefuse::launch
