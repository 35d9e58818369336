// SPDX-License-Identifier: Apache-2.0
#include "prose.h"

#include <cstdio>

#include "report/table.h"
#include "terminal.h"

namespace tilefuse::tool {

std::string fitted(const std::string &text, std::size_t indent) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    result += report::wrap(text.substr(at, end - at), output_width(), indent) + "\n";
    at = end + 1;
  }
  return result;
}

void tell(const std::string &text) {
  constexpr std::size_t kIndent = 2;
  std::fprintf(stderr, "%s\n",
               report::wrap(report::printable(text), error_width(), kIndent).c_str());
}

void add_prose(report::Document &document, const std::string &key, const std::string &text,
               std::size_t indent, bool is_wide) {
  document.people(is_wide ? text : fitted(text, indent));
  document.line(key, "", {{key, text}});
}

} // namespace tilefuse::tool
