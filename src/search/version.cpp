// SPDX-License-Identifier: Apache-2.0
#include "search/version.h"

#include "search/search_version.h"

namespace tilefuse::search {

std::string_view version() { return kSearchVersion; }

} // namespace tilefuse::search
