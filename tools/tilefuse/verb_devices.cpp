// SPDX-License-Identifier: Apache-2.0
// `tilefuse devices`: what was found on this machine, and what was rejected and why.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/engine.h"
#include "table.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

void devices() {
  Table table{.head = {"device", "name", "state"}, .rows = {}, .is_number = {false, false, false}};
  for (const api::FoundDevice &device : api::find_devices())
    table.rows.push_back({device.selector, device.name, device.state});
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
