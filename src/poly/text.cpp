// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.h"
#include "poly/group.h"

namespace tilefuse::poly {
namespace {

constexpr std::string_view kHeader = "group\nanchor ";

} // namespace

std::string to_text(const Group &group) {
  return std::string(kHeader) + nest::to_text(group.anchor);
}

Group parse_group(std::string_view text, const std::string &file) {
  if (!text.starts_with(kHeader))
    throw Error(ErrorCode::Syntax, "expected 'group' and 'anchor' before the nest", file + ":1:1");
  text.remove_prefix(kHeader.size());
  Group group{nest::parse_nest(text, file)};
  verify(group);
  return group;
}

} // namespace tilefuse::poly
