// SPDX-License-Identifier: Apache-2.0
// What `explain` knows of a whole model: compiled and timed on a device, or planned and predicted
// for a target that need not be there.
#pragma once

#include <string>

#include "open_model.h"
#include "report/page/network_page.h"

namespace tilefuse::tool {

struct ExplainedPage {
  report::NetworkPage page;
  std::string html; // of the whole, or of the kernel that is named
};
// `kernel`: a number or a node's name; empty: the whole model.
ExplainedPage measured_page(const program::Program &program, const ModelOptions &options,
                            const std::string &kernel);
ExplainedPage predicted_page(const program::Program &program, const ModelOptions &options,
                             const Target &target, const std::string &kernel);

} // namespace tilefuse::tool
