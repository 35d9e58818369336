// SPDX-License-Identifier: Apache-2.0
// Kernels that are launched once, and where in the launch each runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"
#include "schedule/staging.h"
#include "schedule/tile_join.h"

namespace tilefuse::model {

// A kernel that is to be launched.
struct LaunchPart {
  poly::PlacedGroup *placed = nullptr;    // of other indices, where it joins tiles
  schedule::Schedule *schedule = nullptr; // another, where that lets it run with others
  std::string *chosen_by = nullptr;       // then says so, if it is there
};

// An argument of a launch: that of one of its kernels, by position.
struct LaunchArg {
  std::size_t part = 0;
  schedule::KernelArg arg;
};

// Who runs a part: blocks of its own; work-items of the first part's blocks, dealt to them; they,
// storing it beside the first part's results (lower/launch/between.h); or they, tile by tile in
// step with the first part (lower/launch/in_step.h).
enum class Place { Blocks, Dealt, Between, InStep };
std::string_view to_string(Place place);

struct Launch {
  std::vector<std::size_t> kernels; // positions in the list of all, the first part first
  std::vector<Place> places;        // by part
  std::vector<LaunchArg> args;
  std::vector<std::vector<int>> arguments; // by part and argument of its kernel: of the launch
  std::optional<schedule::TileWalk> joins = std::nullopt; // the second joins the first's tiles
};

// The best schedule of a group with so many work-items a block, if there is one.
using PickOfSize =
    std::function<std::optional<schedule::Schedule>(const poly::Group &, std::int64_t)>;

} // namespace tilefuse::model
