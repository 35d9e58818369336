// SPDX-License-Identifier: Apache-2.0
// Which kernels are one launch: those of one statement that follow each other and write the same
// tensor, as the classes of a strided input gradient or of a transposed convolution do
// (nest/residues.h). They run side by side (lower/side_by_side.h).
//
// Every class is a group of its own, with its own schedule: an anchor nest and its post-ops, to
// which whatever is fused with the statement was fused class by class, maps at its staging
// included; none reads what another writes. The slowest is the launch's first part. Plain maps,
// such as the zeros between pixels, are dealt to its blocks on targets with work-items; the others
// need as many work-items a block as it has, and take other schedules for that than they would
// alone where the cost model says that it pays. What does not fit is a launch of its own.
// Constants that lie between the results of a first part with a matrix instruction it stores
// itself; parts with wgmma in tiles like the first one's share its blocks, where each takes several
// tiles.
//
// Parts of a reduction and their join are one launch where search/split said so and a schedule of
// the parts allows it (schedule/tile_join.h).
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "kernel/nodes.h"
#include "poly/group.h"
#include "schedule/members.h"
#include "schedule/schedule.h"
#include "schedule/tile_join.h"
#include "target/target.h"

namespace tilefuse::model {

// A kernel that is to be launched.
struct LaunchPart {
  poly::PlacedGroup *placed = nullptr;    // of other indices, where it joins tiles
  schedule::Schedule *schedule = nullptr; // another, where that lets it run with others
};

// An argument of a launch: that of one of its kernels, by position.
struct LaunchArg {
  std::size_t part = 0;
  schedule::KernelArg arg;
};

// Who runs a part: blocks of its own; work-items of the first part's blocks, dealt to them; they,
// storing it beside the first part's results (lower/between.h); or they, tile by tile in step with
// the first part (lower/in_step.h).
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
PickOfSize pick_of_size(const Target &target);

// In order. `joins`: else every kernel is a launch of its own.
std::vector<Launch> make_launches(const std::vector<LaunchPart> &parts, const Target &target,
                                  const PickOfSize &pick, bool joins = true);

// The kernel of a launch.
kernel::Kernel lower_launch(const Launch &launch, const std::vector<LaunchPart> &parts,
                            const Target &target);

} // namespace tilefuse::model
