// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "model/passes.h"
#include "pass_options.h"
#include "table.h"

namespace tilefuse::tool {

void add_pass_options(CLI::App &verb, PassContext &passes) {
  verb.add_flag_callback(
      "--time-passes", [&passes] { passes.time(); },
      "Say at the end, on stderr, how long each pass over the program took");
  verb.add_option_function<std::vector<std::string>>(
          "--disable-pass",
          [&passes](const std::vector<std::string> &names) {
            for (const std::string &name : names)
              model::disable_pass(passes, name);
          },
          "Leave a pass over the program out; a wrong name lists them")
      ->allow_extra_args(false)
      ->type_name("NAME");
}

void report_passes(const PassContext &passes) {
  if (!passes.is_timed())
    return;
  Table table{.head = {"pass", "runs", "changed", "ms"},
              .rows = {},
              .is_number = {false, true, true, true}};
  double seconds = 0;
  for (const PassTime &time : passes.times()) {
    table.rows.push_back({time.name, fmt::format("{}", time.runs), fmt::format("{}", time.changes),
                          fmt::format("{:.3f}", time.seconds * 1e3)});
    seconds += time.seconds;
  }
  table.rows.push_back({"all", "", "", fmt::format("{:.3f}", seconds * 1e3)});
  std::fputs(printable(to_text(table)).c_str(), stderr);
}

} // namespace tilefuse::tool
