// SPDX-License-Identifier: Apache-2.0
// A kernel's result cut in blocks, with the window of an input that the first block reads; and one
// block, its points coloured by the lane that computes them, those of one lane's registers marked.
#pragma once

#include "report/html/markup.h"
#include "report/page/tiling.h"

namespace tilefuse::report::html {

void tiling_picture(Markup &out, const Tiling &tiling);

} // namespace tilefuse::report::html
