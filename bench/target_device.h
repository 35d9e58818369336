// SPDX-License-Identifier: Apache-2.0
// A row of devices/ as a device that nothing runs on.
#pragma once

#include <string>

#include "base/error.h"
#include "runtime/target_device.h"
#include "target/device_rows.h"

namespace tilefuse::bench {

using runtime::TargetDevice;

// The row of that name in `folder`. Unsupported where there is none.
inline Target find_target(const std::string &folder, const std::string &name) {
  for (Target &target : read_targets(folder))
    if (target.name == name)
      return target;
  throw Error(ErrorCode::Unsupported, "there is no row '" + name + "' in " + folder);
}

} // namespace tilefuse::bench
