// SPDX-License-Identifier: Apache-2.0
// The page of a model as one file: its time and what to do about it, its graph, where the time
// goes, what the device allows, its memory, and each of its kernels. It asks nobody for anything and
// reads without its script.
#pragma once

#include <string>

#include "report/page/network_page.h"

namespace tilefuse::report::html {

std::string network_html(const NetworkPage &page);

} // namespace tilefuse::report::html
