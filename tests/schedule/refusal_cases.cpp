// SPDX-License-Identifier: Apache-2.0
#include "schedule/refusal_cases.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"
#include "schedule/members.h"
#include "schedule/text.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

// "target NAME KEY VALUE …": the row with these lines of its text replaced.
Target target_of(const std::string &line) {
  std::istringstream words(line);
  std::string word, row;
  words >> word >> row;
  std::string text = to_text(target_row(row));
  for (std::string key, value; words >> key >> value;) {
    const std::size_t begin = text.find("\n" + key + " ");
    if (begin == std::string::npos)
      throw Error(ErrorCode::Syntax, fmt::format("a target has no '{}'", key));
    text.replace(begin, text.find('\n', begin + 1) - begin, fmt::format("\n{} {}", key, value));
  }
  return parse_target(text);
}

} // namespace

std::vector<LegalCase> read_cases(const std::string &path) {
  std::vector<LegalCase> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("=== "))
      cases.push_back({line.substr(4), {}, {}});
    else if (cases.empty())
      continue;
    else if (line.starts_with("--- "))
      cases.back().refused.push_back({line.substr(4), {}, {}});
    else if (cases.back().refused.empty())
      cases.back().text += line + "\n";
    else if (line.starts_with("-"))
      cases.back().refused.back().removed += line.substr(1) + "\n";
    else if (line.starts_with("+"))
      cases.back().refused.back().added += line.substr(1) + "\n";
  }
  return cases;
}

ParsedCase parse_case(const std::string &text) {
  const std::size_t group = text.find('\n') + 1;
  const std::size_t schedule = text.find("\nschedule ") + 1;
  if (!text.starts_with("target ") || schedule == 0)
    throw Error(ErrorCode::Syntax, "a case is a target, a group and a schedule, got:\n" + text);
  ParsedCase parsed{target_of(text.substr(0, group - 1)),
                    poly::parse_group(text.substr(group, schedule - group)),
                    {}};
  poly::verify(parsed.group);
  parsed.schedule = schedule::parse_schedule(parsed.group, text.substr(schedule));
  return parsed;
}

std::string edited(const std::string &text, const Refused &edit) {
  const std::string whole = "\n" + text;
  const std::size_t at = whole.find("\n" + edit.removed);
  if (edit.removed.empty() || at == std::string::npos ||
      whole.find("\n" + edit.removed, at + 1) != std::string::npos)
    throw Error(ErrorCode::Syntax,
                fmt::format("these lines do not stand there once:\n{}", edit.removed));
  std::string result = text;
  return result.replace(at, edit.removed.size(), edit.added);
}

} // namespace tilefuse::testing
