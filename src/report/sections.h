// SPDX-License-Identifier: Apache-2.0
// The parts of an explanation, in the order in which they are printed.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tilefuse::report {

enum class Section { Program, Flatten, Candidates, Layout, Threads, Kernel };
using Sections = std::set<Section>;

// "program", "flatten", …
std::string_view to_string(Section section);
// A list such as "flatten,layout"; all of them where it is empty. Error{Unsupported} names what
// there is.
Sections parse_sections(std::string_view list);

// "---- flatten ----" and a line end.
std::string heading(Section section);

} // namespace tilefuse::report
