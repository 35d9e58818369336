// SPDX-License-Identifier: Apache-2.0
// The version of the code that chooses schedules. Choices that are kept from one run to the next
// (search/network/kept_choices.h) carry it, and those of another version are not read. The build
// makes it from the sources (search_version.h.in).
#pragma once

#include <string_view>

namespace tilefuse::search {

// Version of the code that chooses schedules and splits; equal for equal sources.
std::string_view version();

} // namespace tilefuse::search
