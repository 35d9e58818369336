// SPDX-License-Identifier: Apache-2.0
// `tilefuse devices`: what was found on this machine, and what was rejected and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "emit/emitter.h"
#include "emit/llvm/llvm_module.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/device.h"
#include "runtime/opencl/opencl_device.h"
#include "table.h"
#include "target/target.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

std::vector<std::string> cpu_row() {
  try {
    const std::unique_ptr<runtime::Device> device = runtime::make_cpu_device(0);
    std::string why;
    const bool generates = emit::make_llvm_emitter(&why) != nullptr;
    const std::string state = generates ? "usable" : "only kernels that are in the cache: " + why;
    return {"cpu", device->name(), fmt::format("{} ({})", state, device->target().isa)};
  } catch (const Error &error) {
    return {"cpu", "", "rejected: " + error.message()};
  }
}

void devices() {
  Table table{
      .head = {"device", "name", "state"}, .rows = {cpu_row()}, .is_number = {false, false, false}};
  for (const auto &entries : {runtime::list_opencl_devices(), runtime::list_cuda_devices()})
    for (const runtime::DeviceEntry &entry : entries)
      table.rows.push_back({entry.selector, entry.name,
                            entry.rejected.empty() ? "usable" : "rejected: " + entry.rejected});
  std::fputs(to_text(table).c_str(), stdout);
}

} // namespace

void add_devices(CLI::App &app) {
  CLI::App *verb =
      app.add_subcommand("devices", "List the devices found, and those rejected and why");
  verb->footer("Example:\n  tilefuse devices");
  verb->callback(devices);
}

} // namespace tilefuse::tool
