// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/llvm_spills.h"

#include <algorithm>
#include <map>
#include <vector>

#include "emit/llvm/llvm_module.h"

namespace tilefuse::emit {
namespace {

// Lines [first, last] of a loop: its label and the jump back to it.
struct LoopLines {
  std::size_t first;
  std::size_t last;
  bool encloses(const LoopLines &other) const {
    return first <= other.first && other.last <= last &&
           !(first == other.first && last == other.last);
  }
};

std::string_view trim(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<LoopLines> find_loops(const std::vector<std::string_view> &lines) {
  std::map<std::string_view, std::size_t> labels;
  std::vector<LoopLines> loops;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const std::size_t colon = line.find(':');
    if (line.starts_with(".L") && colon != std::string_view::npos)
      labels[line.substr(0, colon)] = i;
    const std::size_t target = line.find(".L");
    if (!line.starts_with('j') || target == std::string_view::npos)
      continue;
    const auto label =
        labels.find(line.substr(target, line.find_first_of(" \t#", target) - target));
    if (label != labels.end())
      loops.push_back({label->second, i});
  }
  return loops;
}

bool is_vector_stack_access(std::string_view line) {
  const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
  return has("(%rsp") && (has("%xmm") || has("%ymm") || has("%zmm"));
}

} // namespace

int count_loop_spills(std::string_view assembly) {
  const std::vector<std::string_view> lines = split_lines(assembly);
  const std::vector<LoopLines> loops = find_loops(lines);
  int spills = 0;
  for (const LoopLines &loop : loops) {
    const bool is_innermost = std::none_of(
        loops.begin(), loops.end(), [&](const LoopLines &other) { return loop.encloses(other); });
    if (!is_innermost)
      continue;
    for (std::size_t i = loop.first; i <= loop.last; ++i)
      spills += is_vector_stack_access(lines[i]);
  }
  return spills;
}

} // namespace tilefuse::emit
