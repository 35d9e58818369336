// SPDX-License-Identifier: Apache-2.0
#include "report/sections.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::report {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"program", "flatten", "candidates",
                                                    "layout",  "threads", "kernel"};

} // namespace

std::string_view to_string(Section section) { return kNames[at(section)]; }

Sections parse_sections(std::string_view list) {
  Sections sections;
  if (list.empty())
    for (std::size_t s = 0; s < kNames.size(); ++s)
      sections.insert(static_cast<Section>(s));
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end())
      throw Error(ErrorCode::Unsupported, fmt::format("there is no section '{}'", name), {},
                  {fmt::format("sections are {}", fmt::join(kNames, ", "))});
    sections.insert(static_cast<Section>(found - kNames.begin()));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
  }
  return sections;
}

std::string heading(Section section) { return fmt::format("---- {} ----\n", to_string(section)); }

} // namespace tilefuse::report
