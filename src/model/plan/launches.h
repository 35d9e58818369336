// SPDX-License-Identifier: Apache-2.0
// Which kernels are one launch: those of one statement that follow each other and write the same
// tensor, as the classes of a strided input gradient or of a transposed convolution do
// (nest/flatten/residues.h). They run side by side (lower/launch/side_by_side.h).
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
#include "model/plan/launch.h"
#include "poly/group.h"
#include "schedule/members.h"
#include "schedule/schedule.h"
#include "schedule/tile_join.h"
#include "target/target.h"

namespace tilefuse::model {

PickOfSize pick_of_size(const Target &target);

// In order. `joins`: else every kernel is a launch of its own.
std::vector<Launch> make_launches(const std::vector<LaunchPart> &parts, const Target &target,
                                  const PickOfSize &pick, bool joins = true);

// The kernel of a launch.
kernel::Kernel lower_launch(const Launch &launch, const std::vector<LaunchPart> &parts,
                            const Target &target);

} // namespace tilefuse::model
