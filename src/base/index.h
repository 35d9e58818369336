// SPDX-License-Identifier: Apache-2.0
// Numbers that name places. Each space of places has a type of its own, so that a number of one is
// not taken for one of another:
//
//   enum class SlotId : int {}; // a slot of a nest
//
// Such a type compares and hashes; it does not add. `at` makes it, or a plain number that is not
// negative, the subscript of a container.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace tilefuse {

// A type that names a place by a number.
template <typename T>
concept Id = std::is_enum_v<T> && std::same_as<std::underlying_type_t<T>, int>;

// The number behind a name.
constexpr int to_int(Id auto id) { return static_cast<int>(id); }

// The subscript of the place with this number, or this name.
constexpr std::size_t at(std::integral auto number) { return static_cast<std::size_t>(number); }
constexpr std::size_t at(Id auto id) { return static_cast<std::size_t>(id); }

} // namespace tilefuse
