// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_device.h"

#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/opencl/opencl_device.h"

namespace tilefuse::runtime {

std::unique_ptr<Device> make_device(const std::string &selector, int threads,
                                    const std::vector<Target> &rows, const Hooks &hooks,
                                    std::span<const MeasuredRow> measured) {
  constexpr std::string_view kCpu = "cpu:";
  if (selector == "cpu")
    return make_cpu_device(threads, hooks, {}, measured);
  if (selector.starts_with(kCpu))
    return make_cpu_device(threads, hooks, selector.substr(kCpu.size()), measured);
  if (selector == "opencl" || selector.starts_with("opencl:"))
    return make_opencl_device(selector, rows, hooks, measured);
  if (selector == "cuda" || selector.starts_with("cuda:"))
    return make_cuda_device(selector, rows, hooks, measured);
  throw Error(ErrorCode::Device,
              fmt::format("there is no device '{}', need cpu, cpu:INSTRUCTIONS, cuda, cuda:NUMBER, "
                          "opencl, opencl:PLATFORM "
                          "or opencl:PLATFORM:DEVICE",
                          selector),
              {}, {"tilefuse devices lists what was found"});
}

} // namespace tilefuse::runtime
