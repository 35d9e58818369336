// SPDX-License-Identifier: Apache-2.0
#include "poly/story_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilefuse::poly {
namespace {

std::string braced(const std::vector<std::string> &pieces) {
  return fmt::format("{{ {} }}", fmt::join(pieces, "; "));
}

// Members first..last of the loops of the statements: "[{ S1[h, w] -> [(h)]; … }, …]".
ScheduleTree band_of(const std::vector<ScopStatement> &statements, std::size_t first,
                     std::size_t last, bool is_parallel) {
  std::vector<std::string> members;
  for (std::size_t i = first; i < last; ++i) {
    std::vector<std::string> pieces;
    for (const ScopStatement &statement : statements)
      pieces.push_back(fmt::format("{} -> [({})]", instance_text(statement), statement.indices[i]));
    members.push_back(braced(pieces));
  }
  ScheduleTree band{Kind::Band, fmt::format("[{}]", fmt::join(members, ", ")), true, {}, {}};
  band.coincident.assign(members.size(), is_parallel);
  return band;
}

ScheduleTree tree_of(const ScopStatement &statement, std::size_t loops) {
  ScheduleTree filter{Kind::Filter, braced({instance_text(statement)}), false, {}, {}};
  if (statement.indices.size() > loops)
    filter.children.push_back(
        band_of({statement}, loops, statement.indices.size(), !statement.is_reduction));
  return filter;
}

} // namespace

Chosen names_of(const LoopNest &nest) {
  Chosen names;
  for (const ScopStatement &statement : nest.statements)
    names.push_back(statement.name);
  return names;
}

std::string filter_text(const LoopNest &nest) {
  std::vector<std::string> pieces;
  for (const ScopStatement &statement : nest.statements)
    pieces.push_back(instance_text(statement));
  return braced(pieces);
}

ScheduleTree tree_of(const LoopNest &nest) {
  ScheduleTree band = band_of(nest.statements, 0, nest.loops, true);
  if (nest.statements.size() == 1)
    return band;
  ScheduleTree sequence{Kind::Sequence, "", false, {}, {}};
  for (const ScopStatement &statement : nest.statements)
    sequence.children.push_back(tree_of(statement, nest.loops));
  band.children.push_back(std::move(sequence));
  return band;
}

ScheduleTree tree_of(const Scop &scop, const std::vector<LoopNest> &nests) {
  ScheduleTree sequence{Kind::Sequence, "", false, {}, {}};
  for (const LoopNest &nest : nests)
    sequence.children.push_back({Kind::Filter, filter_text(nest), false, {}, {tree_of(nest)}});
  return {Kind::Domain, domain_text(scop), false, {}, {std::move(sequence)}};
}

} // namespace tilefuse::poly
