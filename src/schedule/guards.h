// SPDX-License-Identifier: Apache-2.0
// How a schedule settles the tests of subscripts that may leave their tensor, so that the innermost
// code carries none.
//
//   clip   r      the loop over r runs from the first to the last tap that lies inside
//   edge   x      the first and last steps of x have bodies of their own, in which every subscript
//                 that leaves is known when the kernel is built; all other steps test nothing
//
// Both need vector lanes. A clipped index is a whole loop (not unrolled, not in chunks) around one
// point of the output indices that share its subscript. An index
// with edges is no lane, and the taps that share its subscript are unrolled; only inputs read in
// place have edges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

enum class Guard { Never, Clipped, Edged, Checked };

// What becomes of the test of dimension `dim` of input `input`.
Guard guard_of(const nest::Nest &nest, const Schedule &schedule, std::size_t input,
               const nest::Dim &dim);
// Whether the loop over reduced index `index` keeps the subscript inside.
bool is_clipped_by(const nest::Nest &nest, const Schedule &schedule, const nest::Dim &dim,
                   IndexId index);
// The output index whose edge bodies know the subscript, if any.
std::optional<IndexId> edge_of(const nest::Nest &nest, const Schedule &schedule, std::size_t input,
                               const nest::Dim &dim);

// A step of an output index that has a body of its own.
struct EdgeStep {
  std::int64_t first = 0; // point
  std::int64_t points = 1;
  friend bool operator==(const EdgeStep &, const EdgeStep &) = default;
};

constexpr std::size_t kMostEdgeSteps = 4;

// Steps of an index with edges at which a subscript leaves, and a partial last one; by rising
// point, no more than one above kMostEdgeSteps.
std::vector<EdgeStep> edge_steps(const nest::Nest &nest, const Schedule &schedule, IndexId index);

// Share of all (point, tap) pairs that clipping and edges leave to be computed.
double computed_share(const nest::Nest &nest, const Schedule &schedule);

// Indices that the search may clip or give edges to: those for which it settles a test.
bool can_clip(const nest::Nest &nest, const Schedule &schedule, IndexId index);
bool can_have_edges(const nest::Nest &nest, const Schedule &schedule, IndexId index);

// Why `schedule` cannot settle what it says, or nothing.
std::optional<std::string> wrong_guards(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
