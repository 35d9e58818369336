// SPDX-License-Identifier: Apache-2.0
#include "poly/isl/schedule_tree_isl.h"

#include <fmt/format.h>
#include <isl/aff.h>
#include <isl/ast_build.h>
#include <isl/id.h>
#include <isl/schedule_node.h>

#include "base/error.h"

namespace tilefuse::poly {
namespace {

constexpr std::string_view kSkipped = "skipped";

std::string yaml(const ScheduleTree &tree);

std::string yaml_child(const ScheduleTree &tree) {
  return tree.children.empty() ? std::string() : ", child: " + yaml(tree.children.front());
}

// The statements of some points, none of their instances.
std::string none_of(const ScheduleTree &tree) {
  const Points points(tree.kind == Kind::Filter ? tree.text : std::string("{ }"));
  return (points - points).text();
}

std::string yaml_sequence(const ScheduleTree &tree) {
  std::string text = "{ sequence: [ ";
  for (std::size_t c = 0; c < tree.children.size(); ++c)
    text += (c == 0 ? "" : ", ") + yaml(tree.children[c]);
  return text + " ] }";
}

std::string yaml_mark(const ScheduleTree &tree) {
  if (tree.text == kSkipped && !tree.children.empty())
    return fmt::format("{{ mark: \"{}\", child: {{ filter: \"{}\"{} }} }}", tree.text,
                       none_of(tree), yaml_child(tree));
  return fmt::format("{{ mark: \"{}\"{} }}", tree.text, yaml_child(tree));
}

std::string yaml_band(const ScheduleTree &tree) {
  std::string text = fmt::format("{{ schedule: \"{}\"", tree.text);
  if (tree.permutable)
    text += ", permutable: 1";
  for (std::size_t m = 0; m < tree.coincident.size(); ++m)
    text += fmt::format("{}{}", m == 0 ? ", coincident: [ " : ", ", tree.coincident[m] ? 1 : 0);
  if (!tree.coincident.empty())
    text += " ]";
  return text + yaml_child(tree) + " }";
}

std::string yaml(const ScheduleTree &tree) {
  switch (tree.kind) {
  case Kind::Domain:
    return fmt::format("{{ domain: \"{}\"{} }}", tree.text, yaml_child(tree));
  case Kind::Filter:
    return fmt::format("{{ filter: \"{}\"{} }}", tree.text, yaml_child(tree));
  case Kind::Extension:
    return fmt::format("{{ extension: \"{}\"{} }}", tree.text, yaml_child(tree));
  case Kind::Sequence:
    return yaml_sequence(tree);
  case Kind::Mark:
    return yaml_mark(tree);
  case Kind::Band:
    return yaml_band(tree);
  }
  return "";
}

} // namespace

IslSchedule to_isl(const ScheduleTree &tree) {
  return IslSchedule(counted(isl_schedule_read_from_str(isl_context(), yaml(tree).c_str())));
}

Relation time_of(const IslSchedule &schedule) {
  return Relation(counted(isl_schedule_get_map(schedule.get())));
}

} // namespace tilefuse::poly
