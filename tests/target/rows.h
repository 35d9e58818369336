// SPDX-License-Identifier: Apache-2.0
// Rows of devices/ by name.
#pragma once

#include <string>

#include "base/error.h"
#include "paths.h"
#include "target/device_rows.h"

namespace tilefuse::testing {

inline Target target_row(const std::string &name) {
  for (const Target &target : read_targets(TILEFUSE_SOURCE_DIR "/devices"))
    if (target.name == name)
      return target;
  throw Error(ErrorCode::Unsupported, "there is no row " + name);
}

// The target with the features and rates of a row.
inline Target with_row(Target target, const std::string &name) {
  const Target row = target_row(name);
  target.features = row.features;
  target.rates_like = row.rates_like;
  target.rates = row.rates;
  return target;
}

} // namespace tilefuse::testing
