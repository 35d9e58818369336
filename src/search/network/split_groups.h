// SPDX-License-Identifier: Apache-2.0
// Groups whose reduction is better done in two kernels (nest/flatten/split.h, search/split.h)
// become two: one that stores parts in a scratch buffer of the arena, one that joins them and does
// the post-ops.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "poly/group.h"
#include "program/storage/storage.h"
#include "search/network/kept_choices.h"
#include "search/split.h"
#include "target/target.h"

namespace tilefuse::search {

struct SplitOptions {
  // By the cost model; "none"; or parts of indices, "c:8 y:2". Behind "together" parts are joined
  // in the launch that computes them where that can be, behind "two" in one of their own: "two",
  // "together c:8".
  std::string split = "auto";
  search::JoinIn join = search::JoinIn::Either; // unless `split` says so
  std::string algorithm; // that kernels are forced to where it fits, when not empty
  std::function<void(const std::string &)> warn; // of groups that parts asked for do not fit
};

// One group, or the partial and the joining one. `note` gets what was weighed, a line each.
// Error{Unsupported} when the split asked for is not legal. Decisions of `kept` are taken over and
// new ones added to it.
std::vector<poly::Group> split_group(const poly::Group &group, const Target &target,
                                     const SplitOptions &options, std::string *note = nullptr,
                                     KeptChoices *kept = nullptr);

// Decides for every group what the cost model says of its splits, on all threads, so that `kept`
// has the answers. Nothing when a split is asked for, or none.
void weigh_splits(const std::vector<const poly::Group *> &groups, const Target &target,
                  const SplitOptions &options, KeptChoices &kept);

// The same for groups in their places; one that the parts asked for do not fit stays whole, with a
// warning. Scratch buffers are added to the program's, and what was
// weighed to the notes. Equal groups are decided once; decisions of `kept` are taken over and new
// ones added to it.
std::vector<poly::PlacedGroup> split_groups(std::vector<poly::PlacedGroup> groups,
                                            program::StoredProgram &stored, const Target &target,
                                            const SplitOptions &options,
                                            KeptChoices *kept = nullptr);

} // namespace tilefuse::search
