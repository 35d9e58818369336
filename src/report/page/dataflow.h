// SPDX-License-Identifier: Apache-2.0
// Which launch of a plan reads what which other has written.
//
//   0 → 1   3211264 bytes
//   1 → 3   1605632 bytes
//   2 → 3   1605632 bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/compiled.h"
#include "model/plan/plan.h"

namespace tilefuse::report {

struct Flow {
  std::size_t from = 0; // launches
  std::size_t to = 0;
  std::int64_t bytes = 0; // of the buffers that the first writes and the second reads
  friend bool operator==(const Flow &, const Flow &) = default;
};

// By `to`, then by `from`.
std::vector<Flow> dataflow(const model::Compiled &compiled, const model::Plan &plan);

} // namespace tilefuse::report
