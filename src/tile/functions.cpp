// SPDX-License-Identifier: Apache-2.0
#include "tile/functions.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "tile/check.h"
#include "tile/parser.h"

namespace tilefuse::tile {

std::vector<std::string> add_functions(FunctionTable &table, std::string_view text,
                                       const std::string &file) {
  Diagnostics diagnostics(text, file);
  std::vector<ParsedFunction> parsed = parse_functions(text, file, diagnostics);
  std::set<std::string> below;
  for (const ParsedFunction &p : parsed)
    below.insert(p.function.name);

  const SourceText source{std::make_shared<const std::string>(text)};
  const int before = static_cast<int>(table.size());
  FunctionTable old; // whose names are defined again
  std::vector<std::string> names;
  for (ParsedFunction &p : parsed) {
    Function &function = p.function;
    function.source = source;
    function.order = static_cast<int>(table.size());
    const auto known = table.find(function.name);
    if (known != table.end())
      diagnostics.add(function.at,
                      fmt::format("function '{}' is defined already, in {} line {}", function.name,
                                  known->second.file, known->second.at.line));
    if (p.complete)
      check_function(function, table, below, diagnostics);
    below.erase(function.name);
    names.push_back(function.name);
    if (known != table.end() && known->second.order < before)
      old.insert(table.extract(known));
    table.insert_or_assign(function.name, std::move(p.function));
  }
  if (!diagnostics.empty()) {
    for (const std::string &name : names)
      table.erase(name);
    table.merge(old);
    diagnostics.throw_if_any();
  }
  return names;
}

} // namespace tilefuse::tile
