// SPDX-License-Identifier: Apache-2.0
// Origins of what comes from several nodes: "Conv conv1 + Relu relu1".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilefuse::program {

std::vector<std::string_view> origin_parts(std::string_view origin);

// Nodes of `first`, then those of `then` that are not among them.
std::string join_origins(std::string_view first, std::string_view then);

} // namespace tilefuse::program
