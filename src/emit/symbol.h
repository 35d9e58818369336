// SPDX-License-Identifier: Apache-2.0
// Symbols of kernels.
#pragma once

#include <string>

namespace tilefuse::emit {

// A C identifier of at most 63 characters for a kernel's name: cut and hashed when longer.
std::string symbol_for(const std::string &kernel_name);

} // namespace tilefuse::emit
