// SPDX-License-Identifier: Apache-2.0
// The figures of a device that the cost model takes from its row, measured on it through generated
// kernels: multiply-adds of a unit, memory's bandwidth, a launch; of work-items also the last-level
// cache, local memory and matrix units, which become rates of its own beside those of the row that
// it had them from. The rest of the rates stays that row's (docs/cost_model.md).
//
//   what                       stated   measured
//   launch_us                       3        2.2
//   gflops_per_unit             153.5      246.8
//   gbytes_per_s                   13       18.9
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "target/measured_rows.h"

namespace tilefuse::model {

struct MeasuredFigure {
  std::string key; // of a row, or of its [rates]
  double stated = 0;
  double measured = 0;
};

struct DeviceMeasurement {
  MeasuredRow row;
  Rates like; // of the row that the others come from
  std::vector<MeasuredFigure> figures;
};

// Some ten seconds. `progress` is told how many of how many parts are done.
DeviceMeasurement measure_device(runtime::Device &device,
                                 const std::function<void(int done, int total)> &progress = {});

} // namespace tilefuse::model
