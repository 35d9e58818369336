// SPDX-License-Identifier: Apache-2.0
// One kernel on a page: its time against the prediction and the roofline, what bounds it and what to
// try, how its result is dealt out.
#pragma once

#include <string>

#include "report/html/markup.h"
#include "report/page/kernel_detail.h"
#include "report/page/network_page.h"

namespace tilefuse::report::html {

// All that is known of one kernel, as a page.
std::string kernel_html(const NetworkPage &page, const KernelPage &kernel,
                        const KernelDetail &detail);

// Folded, under "k" and its number.
void kernel_summary(Markup &out, const KernelPage &kernel);

} // namespace tilefuse::report::html
