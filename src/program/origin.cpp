// SPDX-License-Identifier: Apache-2.0
#include "program/origin.h"

#include <algorithm>

namespace tilefuse::program {
namespace {

constexpr std::string_view kJoin = " + ";

} // namespace

std::vector<std::string_view> origin_parts(std::string_view origin) {
  std::vector<std::string_view> result;
  for (std::size_t at = origin.find(kJoin); at != origin.npos; at = origin.find(kJoin)) {
    result.push_back(origin.substr(0, at));
    origin.remove_prefix(at + kJoin.size());
  }
  result.push_back(origin);
  return result;
}

std::string join_origins(std::string_view first, std::string_view then) {
  std::vector<std::string_view> all;
  for (const std::string_view origin : {first, then})
    for (const std::string_view part : origin_parts(origin))
      if (!part.empty() && std::find(all.begin(), all.end(), part) == all.end())
        all.push_back(part);
  std::string joined;
  for (const std::string_view part : all)
    joined.append(joined.empty() ? "" : kJoin).append(part);
  return joined;
}

} // namespace tilefuse::program
