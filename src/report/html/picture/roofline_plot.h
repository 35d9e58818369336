// SPDX-License-Identifier: Apache-2.0
// Launches as dots over what a device allows, both axes logarithmic: operations for each byte that
// must move, operations a second; a dot's area is its time. Slopes are the levels of memory, flat
// lines the peaks of the units that the schedules use.
#pragma once

#include <span>

#include "model/profile.h"
#include "report/html/markup.h"
#include "report/page/network_page.h"

namespace tilefuse::report::html {

void roofline_plot(Markup &out, const model::Profile &profile, std::span<const UnitPeak> peaks);

} // namespace tilefuse::report::html
