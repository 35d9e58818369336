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

// A row that was measured on one device (tilefuse doctor --calibrate), which the key measured_on
// names beside those of a row. target/measured_rows.h lays it over what else is known of it.
struct MeasuredRow {
  std::string device; // Device::name()
  Target target;
};
// Reads every *.toml of `directory` beside the rows of this program, which complete theirs; none
// where there is no such directory. Error{Io} as read_targets, and for a row without measured_on.
std::vector<MeasuredRow> read_measured_rows(const std::string &directory);

} // namespace tilefuse
