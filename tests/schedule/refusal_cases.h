// SPDX-License-Identifier: Apache-2.0
// A file of schedules that are refused. It has legal ones, each on a group and a target, and below
// each the edits that break it, with what is said then:
//
//   === conv by mma
//   target cuda_sm80 compute_units 4
//   group
//   anchor nest conv { … }
//   schedule mma workitem
//     …
//     mma    m16n8k16.f16.f32 m 32 warps 2 1
//   --- a ring of 9 buffers; it needs 2 to 8
//   -  pipe   1 cp_async stages 2
//   +  pipe   1 cp_async stages 9
//
// A target is a row of devices/ with values of its own behind. Lines with `-` stand in the text
// once, one behind the other; those with `+` take their place.
#pragma once

#include <string>
#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::testing {

struct Refused {
  std::string reason;
  std::string removed, added; // whole lines
};

struct LegalCase {
  std::string name;
  std::string text; // target, group and schedule
  std::vector<Refused> refused;
};

struct ParsedCase {
  Target target;
  poly::Group group;
  schedule::Schedule schedule;
};

std::vector<LegalCase> read_cases(const std::string &path);
ParsedCase parse_case(const std::string &text);
// The text with an edit. Error{Syntax} where what it removes is not there once.
std::string edited(const std::string &text, const Refused &edit);

} // namespace tilefuse::testing
