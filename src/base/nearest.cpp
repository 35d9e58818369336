// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace tilefuse {
namespace {

constexpr std::size_t kLongest = 200;  // letters of a name that are looked at
constexpr std::size_t kLeastPart = 3;  // letters that say enough by themselves
constexpr std::size_t kPerMistake = 3; // letters that may come with one mistake

std::string lower(std::string_view text) {
  std::string result(text.substr(0, kLongest));
  for (char &c : result)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return result;
}

} // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    now[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, now);
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
  }
  return now[b.size()];
}

std::string nearest(std::string_view typed, std::span<const std::string> names) {
  const std::string wanted = lower(typed);
  std::string best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string &name : names) {
    const std::string candidate = lower(name);
    std::size_t distance = edit_distance(wanted, candidate);
    const bool is_part = wanted.size() >= kLeastPart &&
                         (candidate.starts_with(wanted) || candidate.ends_with(wanted));
    const std::size_t allowed = std::max(wanted.size(), candidate.size()) / kPerMistake;
    if (is_part)
      distance = std::min<std::size_t>(distance, 1);
    else if (distance > std::max<std::size_t>(allowed, 1) || wanted.size() < 2)
      continue;
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> names) {
  const std::string name = nearest(typed, names);
  return name.empty() ? "" : "; did you mean '" + name + "'?";
}

} // namespace tilefuse
