// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tilefuse::search {

// Changes whenever the code that chooses schedules and splits changes: choices that are kept are
// those of one version.
std::string_view version();

} // namespace tilefuse::search
