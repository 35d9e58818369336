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

#include <cstddef>
#include <string>
#include <vector>

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

} // namespace tilefuse::poly
