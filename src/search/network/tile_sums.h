// SPDX-License-Identifier: Apache-2.0
// Sums of what a kernel of matrix instructions stores, such as the statistics of a batch: where it
// is quicker, the kernel adds up each tile while it is in registers (poly::TileSum) and a second
// kernel joins the parts, so that the result is not read for them.
//
//   conv, gemm [k, n, m | y_x], reduce [k, m | n]
// becomes
//   conv with sum gemm_part [t, k, m | p], gemm_join [k, m | t]
//
// Sums of a gradient read the layer's input beside it, which the kernel fetches as an operand of its
// post-ops (schedule/wgmma/tile_sums.h).
//
// A kernel whose tiles are quick to add up may have another schedule than it would have alone: both
// are weighed, by the predicted time of all kernels.
#pragma once

#include <vector>

#include "poly/group.h"
#include "program/storage/storage.h"
#include "search/network/kept_choices.h"
#include "search/network/split_groups.h"
#include "target/target.h"

namespace tilefuse::search {

// Groups in an order in which they can run, before reductions are split. Parts are scratch buffers,
// added to the program's. What was weighed is added to the notes; decisions of `kept` are taken
// over and new ones added to it.
std::vector<poly::PlacedGroup> sum_tiles(std::vector<poly::PlacedGroup> groups,
                                         program::StoredProgram &stored, const Target &target,
                                         const SplitOptions &options, KeptChoices &kept);

} // namespace tilefuse::search
