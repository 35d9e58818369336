// SPDX-License-Identifier: Apache-2.0
// Which of the names that there are a mistyped one was meant to be.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tilefuse {

// Letters to insert, delete, replace or swap with the next one, to make `b` of `a` (Damerau 1964,
// each letter once).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The name with the least distance, case apart; empty where none is near: within a third of the
// longer one's letters, or begun or ended by what was typed.
std::string nearest(std::string_view typed, std::span<const std::string> names);

// "; did you mean 'x'?" where there is a nearest one, else nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string> names);

} // namespace tilefuse
