// SPDX-License-Identifier: Apache-2.0
// The schedule tree of a group: which statement instances there are and in which order they run,
// outside the arithmetic of a tile. Nodes are isl's; points and relations are in isl's notation.
//
//   domain "{ S0[h, w] : 0 <= h <= 7 and 0 <= w <= 7; S1[h, w] : … }" {
//     sequence {
//       filter "{ S0[h, w] }" {
//         mark "skipped" {
//           band "[{ S0[h, w] -> [(h)] }, { S0[h, w] -> [(w)] }]" permutable coincident 1 1
//         }
//       }
//       filter "{ S1[h, w] }" {
//         band "[{ S1[h, w] -> [(floor((h)/2))] }, …]" permutable coincident 1 1 {
//           extension "{ [i0, i1] -> S0[h, w] : 2i0 <= h <= 3 + 2i0 and … }" {
//             sequence { … }
//
// An extension adds instances to those that reach it, as a relation from the band members above.
// What stands under a mark "skipped" does not run: extensions run it elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/scanner.h"

namespace tilefuse::poly {

struct ScheduleTree {
  enum class Kind { Domain, Band, Sequence, Filter, Extension, Mark };
  Kind kind = Kind::Domain;
  // Points (domain, filter), relation (extension), one schedule per member (band), word (mark).
  std::string text;
  bool permutable = false;            // band
  std::vector<bool> coincident;       // band, by member: its rounds depend on nothing of each other
  std::vector<ScheduleTree> children; // filters of a sequence; at most one of another node

  friend bool operator==(const ScheduleTree &, const ScheduleTree &) = default;
};

using Kind = ScheduleTree::Kind;

// Positions of children from the root.
using TreePath = std::vector<std::size_t>;

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

// The loops in C that run the tree, as isl generates them; empty where the quota did not suffice.
std::string to_loops(const ScheduleTree &tree);

} // namespace tilefuse::poly
