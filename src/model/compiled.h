// SPDX-License-Identifier: Apache-2.0
// What compiling a program for a device gives.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launch/launch.h"
#include "model/plan/waiting.h"
#include "model/session_stats.h"
#include "package/package.h"
#include "program/storage/storage.h"

namespace tilefuse::model {

// A launch and the package that its kernel is.
struct CompiledLaunch {
  launch::Launch launch;
  std::size_t package = 0; // position in Compiled::packages
  // Of an aside the number of the launch before which it has ended (search/network/asides.h).
  std::optional<std::size_t> before = std::nullopt;
};

struct Compiled {
  program::StoredProgram stored;
  std::string layout = "nhwc";          // of activations, one of search::layout_names()
  int conversions = 0;                  // statements that copy from one layout to another
  std::vector<CompiledLaunch> launches; // in order
  std::vector<Package> packages;        // built, ready to load
  int built = 0;                        // packages that were not in the cache
  int searched = 0;                     // choices that were not in the cache
  std::vector<WaitingTensor> waiting;   // under a limit of memory: first what is computed again
  StartSeconds seconds;                 // of these parts
  const Package &package(const CompiledLaunch &launch) const { return packages[launch.package]; }
};

} // namespace tilefuse::model
