// SPDX-License-Identifier: Apache-2.0
// `tilefuse devices`: what was found on this machine, and what was rejected and why.
#include <CLI/CLI.hpp>

#include "api/engine.h"
#include "output.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

report::Document devices() {
  report::Table table{.columns = {{"device", "device"},
                                  {"name", "name", false, report::Column::Fit::Cut},
                                  {"state", "state", false, report::Column::Fit::Cut},
                                  {"usable", "usable", false, report::Column::Fit::Data}},
                      .rows = {},
                      .sums = {}};
  for (const api::FoundDevice &device : api::find_devices())
    table.rows.push_back(
        {report::cell(device.selector),
         report::cell(device.name),
         report::cell(device.state, device.is_usable ? report::Tone::Good : report::Tone::Bad),
         {"", device.is_usable}});
  report::Document document;
  document.table("devices", std::move(table));
  return document;
}

} // namespace

void add_devices(CLI::App &app) {
  auto out = std::make_shared<OutputOptions>();
  CLI::App *verb =
      app.add_subcommand("devices", "List the devices found, and those rejected and why");
  verb->footer("Example:\n  tilefuse devices");
  add_output_options(*verb, *out, true);
  verb->callback([out] { print(devices(), *out); });
}

} // namespace tilefuse::tool
