// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "poly/fuse.h"

namespace tilefuse::poly {
namespace {

constexpr std::array<std::pair<FuseLevel, std::string_view>, 3> kLevels = {{
    {FuseLevel::None, "none"},
    {FuseLevel::Pointwise, "pointwise"},
    {FuseLevel::All, "all"},
}};

} // namespace

std::string_view to_string(FuseLevel level) {
  for (const auto &[of, text] : kLevels)
    if (of == level)
      return text;
  return "";
}

std::optional<FuseLevel> parse_fuse_level(std::string_view text) {
  for (const auto &[level, name] : kLevels)
    if (name == text)
      return level;
  return std::nullopt;
}

} // namespace tilefuse::poly
