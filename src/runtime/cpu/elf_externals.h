// SPDX-License-Identifier: Apache-2.0
// The functions outside a code object that generated code may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilefuse::runtime::elf {

using Address = std::uint64_t;

// Nothing for a name that generated code never calls.
std::optional<Address> find_external(std::string_view name);

} // namespace tilefuse::runtime::elf
