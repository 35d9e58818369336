// SPDX-License-Identifier: Apache-2.0
// Reader of devices/*.toml: each file is a row, a Target under the names of its members. A key that
// is left out has the member's value, but for two that the row of its family then gives, which is
// told from backend and isa: `features`, and `rates_like`, the row whose rates are taken where
// [rates] does not state them.
//
//   name = "my_gpu"
//   backend = "cuda"
//   isa = "sm_90a"
//   lanes = "workitem"
//   warp = 32
//   features = ["async_copies", "matrix_units"]
//   rates_like = "cuda_sm90"
//   [rates]
//   l2_bytes_per_cycle = 50.0
#pragma once

#include <string>
#include <vector>

#include "target/target.h"

namespace tilefuse {

// Reads every *.toml of `directory` itself, sorted by name. Error{Io} names file and line of a
// mistake: an unknown or mistyped key, a feature that backend, isa or lanes contradict, rates of a
// row that is not there, work-items without rates.
std::vector<Target> read_targets(const std::string &directory);

// The rows of devices/ that are part of this program.
std::vector<Target> builtin_targets();

} // namespace tilefuse
