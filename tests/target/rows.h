// SPDX-License-Identifier: Apache-2.0
// Rows of devices/ by name.
#pragma once

#include <string>

#include "base/error.h"
#include "paths.h"
#include "target/target.h"

namespace tilefuse::testing {

inline Target target_row(const std::string &name) {
  for (const Target &target : read_targets(TILEFUSE_SOURCE_DIR "/devices"))
    if (target.name == name)
      return target;
  throw Error(ErrorCode::Unsupported, "there is no row " + name);
}

} // namespace tilefuse::testing
