// SPDX-License-Identifier: Apache-2.0
// Features of a schedule with a matrix instruction that exclude each other, each pair with what in
// the machine or in the kernel's protocol forbids it. Everything else combines: what a number may
// be is a range (range.h), what copies bring is core_pipes.h, what instructions read atom_tile.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

struct Exclusion {
  std::string_view one, other, reason;
  bool (*both)(const Gemm &gemm);
};

std::span<const Exclusion> exclusions();
// The first pair that the schedule has; nothing where it has none.
std::optional<std::string> excluded(const Gemm &gemm);

} // namespace tilefuse::schedule
