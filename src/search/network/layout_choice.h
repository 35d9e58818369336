// SPDX-License-Identifier: Apache-2.0
// How the activations of a network lie (program/storage/layout.h), its tensors placed and its
// kernels grouped accordingly. With "auto" the cost model chooses for the whole network: every
// layout's kernels are scheduled and their predicted times summed, copies between layouts among
// them; another layout than NHWC is taken where it is clearly faster. A layout is given up as soon
// as what was priced of it and what the rest can be hoped to take exceed the best; where kernels in
// NHWC use matrix units, none is priced but NCHW, and that where NHWC takes copies. Where an
// algorithm is forced, "auto" is NHWC.
//
//   layout nhwc: 812.4 us, 0 copies
//   layout nchw: more than 812.4 us after 3 of 19 kernels
//   layout blocked by 16: 836.0 us, 2 copies
//
// On GPUs rows of activations at whole vectors are weighed likewise, beside matrix units too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/storage/layout.h"
#include "search/network/fusion.h"
#include "search/network/kept_choices.h"
#include "search/network/split_groups.h"

namespace tilefuse::search {

struct LayoutOptions {
  std::string layout = "auto"; // or another of layout_names()
  FusionSettings fusion;
  SplitOptions split;
};

struct LaidOut {
  program::StoredProgram stored;
  std::vector<poly::PlacedGroup> groups; // in launch order, split
  program::Layout layout = program::Layout::Nhwc;
  bool pads_rows = false; // program/storage/padded_storage.h
  int conversions = 0;    // statements that only copy from one layout to another
  std::string weighed;    // a line per layout that was priced; empty: there was nothing to choose
};

// The name of what was chosen, one of layout_names().
std::string_view layout_name(const LaidOut &laid);
// What --activations takes: "auto", the layouts' names, and "padded", NHWC with padded rows.
std::vector<std::string> layout_names();

// Channels of a block for a target: those of a vector, or of a warp.
std::int64_t channel_block(const Target &target);

// Requires a prepared program (model/compile.h). Answers are taken over from `kept`, or added.
LaidOut lay_out(const program::Program &program, const Target &target, const LayoutOptions &options,
                KeptChoices *kept = nullptr);

} // namespace tilefuse::search
