// SPDX-License-Identifier: Apache-2.0
// A build without OpenCL says so.
#include "base/error.h"
#include "runtime/device.h"
#include "runtime/opencl/opencl_device.h"

namespace tilefuse::runtime {
namespace {

constexpr const char *kWhy =
    "this build of tilefuse has no OpenCL back end (TILEFUSE_OPENCL is off)";

} // namespace

std::vector<DeviceEntry> list_opencl_devices() {
  return {{.selector = "opencl", .name = "OpenCL", .rejected = kWhy}};
}

std::unique_ptr<Device> make_opencl_device(const std::string &, const std::vector<Target> &,
                                           const Hooks &, std::span<const MeasuredRow>) {
  throw Error(ErrorCode::Device, kWhy);
}

} // namespace tilefuse::runtime
