// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "model/passes.h"
#include "output.h"
#include "pass_options.h"

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
  report::Table table{.columns = {{"pass", "pass"},
                                  {"runs", "runs", true},
                                  {"changed", "changed", true},
                                  {"ms", "ms", true}},
                      .rows = {},
                      .sums = {}};
  double seconds = 0;
  for (const PassTime &time : passes.times()) {
    table.rows.push_back({report::cell(time.name), report::cell(std::int64_t{time.runs}),
                          report::cell(std::int64_t{time.changes}),
                          report::cell(time.seconds * 1e3, 3)});
    seconds += time.seconds;
  }
  table.sums.push_back({report::cell("all"), {}, {}, report::cell(seconds * 1e3, 3)});
  print_to_stderr(table);
}

} // namespace tilefuse::tool
