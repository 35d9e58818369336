// SPDX-License-Identifier: Apache-2.0
// The devices that model tests run on: the CPU, and OpenCL where it is found. In CI both must be
// there.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "paths.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device.h"
#include "runtime/opencl/opencl_device.h"
#include "target/device_rows.h"

namespace tilefuse::testing {

struct NamedDevice {
  std::string name;
  std::unique_ptr<runtime::Device> device;
};

inline std::vector<NamedDevice> &devices() {
  static std::vector<NamedDevice> all = [] {
    std::vector<NamedDevice> found;
    found.push_back({"cpu", runtime::make_cpu_device(0)});
    try {
      found.push_back({"opencl", runtime::make_opencl_device(
                                     "opencl", read_targets(TILEFUSE_SOURCE_DIR "/devices"))});
    } catch (const Error &error) {
      if (std::getenv("CI"))
        ADD_FAILURE() << "OpenCL is required in CI: " << error.what();
      else
        std::printf("skipped: OpenCL (%s)\n", error.what());
    }
    return found;
  }();
  return all;
}

} // namespace tilefuse::testing
