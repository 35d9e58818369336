// SPDX-License-Identifier: Apache-2.0
// Which index is what to a matrix instruction: rows are pixels, columns channels, and the depth is
// summed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

using nest::IndexId;

// Roles of the indices; requires no_core_roles to give no reason for the schedule's instruction, or
// for one of a warp where it has none.
struct CoreRoles {
  int data = 0; // inputs
  int filter = 1;
  bool data_turned = false;
  bool filter_turned = false;
  bool data_apart = false;       // straight, and not contiguous: its depth is elements apart
  IndexId channel{};             // output index: the last of `channels`
  std::vector<IndexId> channels; // output indices, slowest first; one where the filter is turned
  std::vector<IndexId> pixels;   // output indices, slowest first; one where the data is turned
  std::vector<IndexId> grid;     // the other output indices
  std::vector<IndexId> depths;   // reduced indices, slowest first: one, its blocks and it, or all
  std::vector<IndexId> walked;   // the other reduced indices, slowest first
  std::int64_t points = 1;       // of all pixel indices
  std::int64_t channel_points = 1;
  std::int64_t depth_points = 1; // of all depth indices
  // The index whose tile is a step's depth.
  IndexId depth() const { return depths.back(); }
  bool is_turned(int input) const { return input == data ? data_turned : filter_turned; }
  // The depth is blocks around an index that is contiguous, not points that copies take apart.
  bool has_blocks() const { return depths.size() == 2 && !(data_turned && filter_turned); }
  // The index along which an input is contiguous.
  IndexId contiguous(int input) const {
    return !is_turned(input) ? depth() : (input == data ? pixels.back() : channel);
  }
  friend bool operator==(const CoreRoles &, const CoreRoles &) = default;
};

// The index moves the operand by single elements, through a dimension that is not checked.
bool is_contiguous(const nest::Operand &operand, IndexId index);

// Why no matrix instruction of a warp, or of four, can compute the nest; nothing when some can.
std::optional<std::string> no_core_roles(const nest::Nest &nest, bool is_of_wgmma);
CoreRoles core_roles(const nest::Nest &nest, const Schedule &schedule);
// The types of both inputs; nothing where no_core_roles() gives a reason.
struct SideTypes {
  std::optional<DType> data;
  std::optional<DType> filter;
};
SideTypes side_types(const nest::Nest &nest, bool is_of_wgmma);
// The pipe of the input that is data.
Pipe &data_pipe(const nest::Nest &nest, Schedule &schedule);

} // namespace tilefuse::schedule
