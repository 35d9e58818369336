// SPDX-License-Identifier: Apache-2.0
// Texts taken apart at lines that begin with a mark.
#pragma once

#include <string_view>

namespace tilefuse {

// Takes off a text what stands in front of the line that a mark, "\nname", begins with; all of it
// where no line does.
std::string_view take_to(std::string_view &text, std::string_view mark);

} // namespace tilefuse
