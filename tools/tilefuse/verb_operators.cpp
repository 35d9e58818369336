// SPDX-License-Identifier: Apache-2.0
// `tilefuse operators`: the ONNX operators that the importer knows, out of its own table.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "onnx/table.h"
#include "output.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

// One operator over all of its opsets.
struct Known {
  std::int64_t since = 0;
  std::int64_t newest = 0; // the opset that the attributes are of
  std::string attributes;
};

std::map<std::string, Known> known_operators() {
  std::map<std::string, Known> known;
  for (const onnx_import::Operator &row : onnx_import::operators()) {
    const auto [place, is_new] = known.try_emplace(std::string(row.type));
    Known &all = place->second;
    all.since = is_new ? row.since : std::min(all.since, row.since);
    if (is_new || row.since >= all.newest) {
      all.newest = row.since;
      all.attributes = row.attributes;
    }
  }
  return known;
}

report::Document operators() {
  report::Table table{.columns = {{"operator", "operator"},
                                  {"opset", "since", true},
                                  {"attributes", "attributes", false, report::Column::Fit::Cut}},
                      .rows = {},
                      .sums = {}};
  for (const auto &[name, known] : known_operators())
    table.rows.push_back(
        {report::cell(name), report::cell(known.since), report::cell(known.attributes)});
  report::Document document;
  document.table("operators", std::move(table));
  return document;
}

} // namespace

void add_operators(CLI::App &app) {
  auto out = std::make_shared<OutputOptions>();
  CLI::App *verb = app.add_subcommand(
      "operators", "List the ONNX operators that tilefuse imports, and their attributes");
  verb->footer("Example:\n  tilefuse operators --wide");
  add_output_options(*verb, *out, true);
  verb->callback([out] { print(operators(), *out); });
}

} // namespace tilefuse::tool
