// SPDX-License-Identifier: Apache-2.0
// A number that is asked for, and where it has to lie: stages of a pipe, points of a box, warps; and
// of what it has to be a multiple, as rows are that several warps share.
// Whatever limits it (hardware, or what its readers need) works out the ends; how a number outside
// them is refused is said here alone:
//
//   halo.stages is 9; it needs 1 to 8
//   tile.rows is 96; it needs 128 or more, in units of 128
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace tilefuse {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

struct Range {
  std::string_view what; // field of the schedule's text, or limit of the hardware
  std::int64_t value = 0;
  std::int64_t least = 1;
  std::int64_t most = 1;
  std::int64_t unit = 1; // of which it is a multiple
};

// Why the number is refused; nothing where it lies in its range.
std::optional<std::string> outside(const Range &range);
// The same of several: why the first that is refused is.
std::optional<std::string> outside(std::initializer_list<Range> ranges);

} // namespace tilefuse
