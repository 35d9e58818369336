// SPDX-License-Identifier: Apache-2.0
#include "version.h"

#include <fmt/format.h>

#include "api/engine.h"
#include "commit.h"
#include "lower/pipeline.h"
#include "report/table.h"
#include "terminal.h"

namespace tilefuse::tool {

std::string version_line() {
  return fmt::format("{} (commit {}, code {})", TILEFUSE_VERSION, kCommit,
                     lower::code_version().substr(0, 12));
}

std::string version_text() {
  std::string text = "tilefuse " + version_line();
  for (const api::FoundDevice &device : api::find_devices())
    text += fmt::format("\n{:<8} {}{}{}", device.selector, device.name,
                        device.name.empty() ? "" : ": ", device.state);
  constexpr std::size_t kIndent = 9; // behind the selectors
  return report::wrap(text, output_width(), kIndent);
}

} // namespace tilefuse::tool
