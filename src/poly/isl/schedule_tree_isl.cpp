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

using Node = std::unique_ptr<isl_schedule_node, Freed<isl_schedule_node_free>>;

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

std::string text_of_band(isl_schedule_node *node) {
  isl_multi_union_pw_aff *members = counted(isl_schedule_node_band_get_partial_schedule(node));
  std::string text = taken(isl_multi_union_pw_aff_to_str(members));
  isl_multi_union_pw_aff_free(members);
  return text;
}

ScheduleTree band_of(isl_schedule_node *node) {
  ScheduleTree tree{Kind::Band, text_of_band(node), false, {}, {}};
  tree.permutable = isl_schedule_node_band_get_permutable(node) == isl_bool_true;
  const int members = isl_schedule_node_band_n_member(node);
  for (int m = 0; m < members; ++m)
    tree.coincident.push_back(isl_schedule_node_band_member_get_coincident(node, m) ==
                              isl_bool_true);
  return tree;
}

// A node without its children.
ScheduleTree alone(isl_schedule_node *node) {
  switch (isl_schedule_node_get_type(node)) {
  case isl_schedule_node_domain:
    return {Kind::Domain, Points(isl_schedule_node_domain_get_domain(node)).text(), false, {}, {}};
  case isl_schedule_node_filter:
    return {Kind::Filter, Points(isl_schedule_node_filter_get_filter(node)).text(), false, {}, {}};
  case isl_schedule_node_extension:
    return {Kind::Extension,
            Relation(isl_schedule_node_extension_get_extension(node)).text(),
            false,
            {},
            {}};
  case isl_schedule_node_mark: {
    isl_id *id = isl_schedule_node_mark_get_id(node);
    ScheduleTree tree{Kind::Mark, isl_id_get_name(id), false, {}, {}};
    isl_id_free(id);
    return tree;
  }
  case isl_schedule_node_band:
    return band_of(node);
  default:
    return {Kind::Sequence, "", false, {}, {}};
  }
}

ScheduleTree from_node(isl_schedule_node *node) {
  ScheduleTree tree = alone(node);
  const int children = isl_schedule_node_n_children(node);
  for (int c = 0; c < children; ++c) {
    const Node child(counted(isl_schedule_node_get_child(node, c)));
    if (isl_schedule_node_get_type(child.get()) != isl_schedule_node_leaf)
      tree.children.push_back(from_node(child.get()));
  }
  const bool is_skipped = tree.kind == Kind::Mark && tree.text == kSkipped;
  if (is_skipped && !tree.children.empty() && tree.children.front().kind == Kind::Filter) {
    std::vector<ScheduleTree> below = std::move(tree.children.front().children);
    tree.children = std::move(below);
  }
  return tree;
}

} // namespace

IslSchedule to_isl(const ScheduleTree &tree) {
  return IslSchedule(counted(isl_schedule_read_from_str(isl_context(), yaml(tree).c_str())));
}

Relation time_of(const IslSchedule &schedule) {
  return Relation(counted(isl_schedule_get_map(schedule.get())));
}

ScheduleTree from_isl(const isl_schedule *schedule) {
  const Node root(counted(isl_schedule_get_root(const_cast<isl_schedule *>(schedule))));
  return from_node(root.get());
}

} // namespace tilefuse::poly
