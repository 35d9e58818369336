// SPDX-License-Identifier: Apache-2.0
// A number of a schedule, or of what follows from it, and where it has to lie: stages of a pipe,
// points of a box, warps. Whatever limits it (hardware, or what its readers need) works out the
// ends; how a number outside them is refused is said here alone:
//
//   halo.stages is 9; it needs 1 to 8
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilefuse::schedule {

struct Range {
  std::string_view what; // field of the schedule's text, or limit of the hardware
  std::int64_t value = 0;
  std::int64_t least = 1;
  std::int64_t most = 1;
};

// Why the number is refused; nothing where it lies in its range.
std::optional<std::string> outside(const Range &range);

} // namespace tilefuse::schedule
