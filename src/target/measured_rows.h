// SPDX-License-Identifier: Apache-2.0
// What was measured on this very device in the place of what is stated of its kind: a row like those
// of devices/ that names the device. It lies in the user's folder, and a device that is opened under
// that name takes its figures: the peak of a unit, memory's bandwidth, a launch, and rates.
//
//   measured_on = "NVIDIA A10"
//   name = "cuda_sm86_measured_0b1c2d3e"
//   backend = "cuda"
//   …
//   rates_like = "cuda_sm90"
//   [rates]
//   l2_over_memory = 2.4
#pragma once

#include <span>
#include <string>
#include <vector>

#include "target/device_rows.h"

namespace tilefuse {

// $TILEFUSE_DEVICES, else tilefuse/devices in $XDG_CONFIG_HOME or ~/.config; "" without a home.
std::string measured_folder();

// The target with the figures of the row that was measured on a device of this name and back end;
// as it is where there is none.
Target with_measurements(Target target, const std::string &device,
                         std::span<const MeasuredRow> rows);

// Another peak of a unit; dot products keep theirs beside it.
void set_peak(Target &target, double gflops_per_unit);

// "cuda_sm86_measured_0b1c2d3e": of the row of a device, by the kind's name and its own.
std::string measured_name(const Target &target, const std::string &device);
// The text of the file; [rates] has those that differ from the rates of `like`, the row rates_like
// names.
std::string to_toml(const MeasuredRow &row, const Rates &like);

} // namespace tilefuse
