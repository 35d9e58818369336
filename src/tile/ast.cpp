// SPDX-License-Identifier: Apache-2.0
#include "tile/ast.h"

namespace tilefuse::tile {
namespace {

bool is_name(std::string_view name, char escape, char first, char last) {
  if (name.empty() || name.find('.') != std::string_view::npos)
    return false;
  return name[0] == escape ? name.size() > 1 : name[0] >= first && name[0] <= last;
}

} // namespace

bool is_upper_name(std::string_view name) { return is_name(name, '#', 'A', 'Z'); }
bool is_lower_name(std::string_view name) { return is_name(name, '$', 'a', 'z'); }

std::string_view plain_name(std::string_view name) {
  return name.substr(name.starts_with('#') || name.starts_with('$') ? 1 : 0);
}

} // namespace tilefuse::tile
