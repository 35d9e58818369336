// SPDX-License-Identifier: Apache-2.0
// What compiling a program for a device gives.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "model/plan/launches.h"
#include "package/package.h"
#include "poly/group.h"
#include "program/storage/storage.h"
#include "schedule/schedule.h"

namespace tilefuse::model {

struct CompiledKernel {
  poly::PlacedGroup placed;
  schedule::Schedule schedule;
  std::string chosen_by;   // "model", "tuned on this device", …
  std::size_t package = 0; // of its launch: position in Compiled::packages
  std::size_t part = 0;    // its place in the launch
};

struct Compiled {
  program::StoredProgram stored;
  program::Layout layout = program::Layout::Nhwc;
  int conversions = 0;                 // statements that copy from one layout to another
  std::vector<CompiledKernel> kernels; // in launch order
  std::vector<Launch> launches;        // of one kernel or several
  std::vector<Package> packages;       // built, ready to load
  int built = 0;                       // packages that were not in the cache
  int searched = 0;                    // choices that were not in the cache
  StartSeconds seconds;                // of these parts
  // The package of a launch.
  const Package &package(const Launch &launch) const {
    return packages[kernels[launch.kernels[0]].package];
  }
};

} // namespace tilefuse::model
