// SPDX-License-Identifier: Apache-2.0
// Schedule trees (schedule_tree_node.h): their text, their legality and how they are changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poly/schedule_tree_node.h"

namespace tilefuse::poly {

const ScheduleTree &node_at(const ScheduleTree &tree, const TreePath &path);

// Throws Error{Shape}: a node in the wrong place, points that no domain or extension brings,
// filters of a sequence that overlap, text that is not isl's.
void verify(const ScheduleTree &tree);

std::string to_text(const ScheduleTree &tree);
// Reads the text back and verifies it. Throws Error{Syntax|Shape}.
ScheduleTree parse_schedule_tree(std::string_view text, const std::string &file = "<tree>");

// The band at `path` split into a band of tiles and, under it, a band of the points of a tile.
ScheduleTree tile_band(const ScheduleTree &tree, const TreePath &path,
                       const std::vector<std::int64_t> &sizes);

// The node at `path` runs after `producer`, a tree for the points that `extension` adds there.
// `filter` and `rest` are those of the sequence of both.
struct Graft {
  std::string extension;
  std::string filter;
  ScheduleTree producer;
  std::string rest;
};
ScheduleTree graft_extension(const ScheduleTree &tree, const TreePath &path, const Graft &graft);

// The node at `path` under a mark.
ScheduleTree insert_mark(const ScheduleTree &tree, const TreePath &path, const std::string &word);

} // namespace tilefuse::poly
