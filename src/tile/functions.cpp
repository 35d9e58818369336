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
  FunctionTable all = table;
  std::vector<std::string> names;
  for (ParsedFunction &p : parsed) {
    Function &function = p.function;
    function.source = source;
    function.order = static_cast<int>(all.size());
    const auto old = all.find(function.name);
    if (old != all.end())
      diagnostics.add(function.at,
                      fmt::format("function '{}' is defined already, in {} line {}", function.name,
                                  old->second.file, old->second.at.line));
    if (p.complete)
      check_function(function, all, below, diagnostics);
    below.erase(function.name);
    names.push_back(function.name);
    all.insert_or_assign(function.name, std::move(p.function));
  }
  diagnostics.throw_if_any();
  table = std::move(all);
  return names;
}

} // namespace tilefuse::tile
