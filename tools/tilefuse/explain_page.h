// SPDX-License-Identifier: Apache-2.0
// What `explain` knows of a whole model: compiled and timed on a device, or planned and predicted
// for a target that need not be there.
#pragma once

#include <string>

#include "open_model.h"
#include "report/page/network_page.h"

namespace tilefuse::tool {

report::NetworkPage measured_page(const program::Program &program, const ModelOptions &options);
report::NetworkPage predicted_page(const program::Program &program, const ModelOptions &options,
                                   const Target &target);

} // namespace tilefuse::tool
