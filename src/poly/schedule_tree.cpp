// SPDX-License-Identifier: Apache-2.0
#include "poly/schedule_tree.h"

#include <fmt/format.h>
#include <isl/aff.h>
#include <isl/val.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/scanner.h"
#include "poly/isl/schedule_tree_isl.h"

namespace tilefuse::poly {
namespace {

[[noreturn]] void refuse(const ScheduleTree &node, std::string_view what) {
  throw Error(ErrorCode::Shape, fmt::format("schedule tree: {}", what), {},
              {node.text.empty() ? "in a sequence" : "at " + quoted(node.text)});
}

void check_children(const ScheduleTree &node, bool is_root) {
  if ((node.kind == Kind::Domain) != is_root)
    refuse(node, "the root, and only it, is a domain");
  if (node.kind == Kind::Sequence) {
    for (const ScheduleTree &child : node.children)
      if (child.kind != Kind::Filter)
        refuse(child, "what stands in a sequence are filters");
  } else if (node.children.size() > 1) {
    refuse(node, "only a sequence has several children");
  }
  if (node.kind == Kind::Mark && node.children.empty())
    refuse(node, "a mark stands over something");
  if (node.kind != Kind::Band && (node.permutable || !node.coincident.empty()))
    refuse(node, "permutable and coincident are said of bands");
}

// Points that reach the parts of a sequence: each reaches exactly one.
void check_sequence(const ScheduleTree &node, const Points &reaching) {
  Points left = reaching;
  for (const ScheduleTree &filter : node.children) {
    const Points here = reaching & Points(filter.text);
    if (here.is_within(left) == false)
      refuse(filter, "filters of a sequence overlap");
    left = left - here;
  }
  if (left.is_empty() == false)
    refuse(node, "no filter of the sequence takes " + left.text());
}

void check(const ScheduleTree &node, Points reaching, bool is_root) {
  check_children(node, is_root);
  switch (node.kind) {
  case Kind::Domain:
    reaching = Points(node.text);
    break;
  case Kind::Filter:
    reaching = reaching & Points(node.text);
    break;
  case Kind::Extension: {
    const Points added = Relation(node.text).range();
    if ((added & reaching).is_empty() == false)
      refuse(node, "an extension brings points that are there already");
    reaching = reaching | added;
    break;
  }
  case Kind::Sequence:
    check_sequence(node, reaching);
    break;
  case Kind::Band:
  case Kind::Mark:
    break;
  }
  for (const ScheduleTree &child : node.children)
    check(child, reaching, false);
}

// The tree with the node at `path` replaced.
template <class Make>
ScheduleTree replaced(const ScheduleTree &tree, const TreePath &path, const Make &make) {
  ScheduleTree copy = tree;
  ScheduleTree *node = &copy;
  for (const std::size_t position : path)
    node = &node->children.at(position);
  *node = make(std::as_const(*node));
  return copy;
}

std::string taken(isl_multi_union_pw_aff *members) {
  char *text = counted(isl_multi_union_pw_aff_to_str(members));
  std::string copy = text == nullptr ? "" : text;
  std::free(text);
  isl_multi_union_pw_aff_free(members);
  return copy;
}

isl_multi_union_pw_aff *members_of(const ScheduleTree &band) {
  return counted(isl_multi_union_pw_aff_read_from_str(isl_context(), band.text.c_str()));
}

isl_multi_val *sizes_of(const ScheduleTree &band, const std::vector<std::int64_t> &sizes) {
  isl_multi_union_pw_aff *members = members_of(band);
  isl_multi_val *values = isl_multi_val_zero(isl_multi_union_pw_aff_get_space(members));
  isl_multi_union_pw_aff_free(members);
  for (std::size_t m = 0; m < sizes.size(); ++m)
    values = isl_multi_val_set_val(values, static_cast<int>(m),
                                   isl_val_int_from_si(isl_context(), sizes[m]));
  return values;
}

} // namespace

const ScheduleTree &node_at(const ScheduleTree &tree, const TreePath &path) {
  const ScheduleTree *node = &tree;
  for (const std::size_t position : path)
    node = &node->children.at(position);
  return *node;
}

void verify(const ScheduleTree &tree) {
  check(tree, Points(std::string("{ }")), true);
  if (to_isl(tree) == nullptr)
    refuse(tree, "isl does not take it");
}

ScheduleTree tile_band(const ScheduleTree &tree, const TreePath &path,
                       const std::vector<std::int64_t> &sizes) {
  return replaced(tree, path, [&](const ScheduleTree &band) {
    ScheduleTree points = band;
    points.text =
        taken(isl_multi_union_pw_aff_mod_multi_val(members_of(band), sizes_of(band, sizes)));
    ScheduleTree tiles{Kind::Band, "", band.permutable, band.coincident, {std::move(points)}};
    tiles.text = taken(isl_multi_union_pw_aff_floor(
        isl_multi_union_pw_aff_scale_down_multi_val(members_of(band), sizes_of(band, sizes))));
    return tiles;
  });
}

ScheduleTree graft_extension(const ScheduleTree &tree, const TreePath &path, const Graft &graft) {
  return replaced(tree, path, [&](const ScheduleTree &node) {
    ScheduleTree first{Kind::Filter, graft.filter, false, {}, {graft.producer}};
    ScheduleTree then{Kind::Filter, graft.rest, false, {}, {node}};
    ScheduleTree both{Kind::Sequence, "", false, {}, {std::move(first), std::move(then)}};
    return ScheduleTree{Kind::Extension, graft.extension, false, {}, {std::move(both)}};
  });
}

ScheduleTree insert_mark(const ScheduleTree &tree, const TreePath &path, const std::string &word) {
  return replaced(tree, path, [&](const ScheduleTree &node) {
    return ScheduleTree{Kind::Mark, word, false, {}, {node}};
  });
}

} // namespace tilefuse::poly
