// SPDX-License-Identifier: Apache-2.0
// A kernel's pipes and roles over time: a row for each input that is copied, for each group that
// computes, and for the stores.
#pragma once

#include "report/html/markup.h"
#include "report/page/pipe_timeline.h"

namespace tilefuse::report::html {

void pipe_picture(Markup &out, const Timeline &timeline);

} // namespace tilefuse::report::html
