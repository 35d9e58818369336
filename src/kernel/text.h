// SPDX-License-Identifier: Apache-2.0
// Text form of a kernel and back: parse_kernel(to_text(k)) prints the same text.
#pragma once

#include <string>
#include <string_view>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

std::string to_text(const Kernel& kernel);
std::string to_text(const Kernel& kernel, ExprRef expr);
Kernel parse_kernel(std::string_view text, const std::string& file = "<kernel>");

}  // namespace tilefuse::kernel
