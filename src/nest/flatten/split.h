// SPDX-License-Identifier: Apache-2.0
// A reduction done in two nests. Reduced indices are cut in parts; the partial nest has the parts
// as output indices and stores one accumulator per part and output, in the accumulator's type; the
// finishing nest joins the parts in a fixed order and does the post-ops. The same sums come out in
// every run.
//
//   split c:8 y:2
//
//   conv          n, m, y, x | c 512, r, s              out[n, m, y, x] = post(acc)
//   conv_part     cp 8, n, m, y, x | c 64, r, s         scratch[cp, n, m, y, x] = acc
//   conv_join     n, m, y, x | cp 8                     out[n, m, y, x] = post(sum of scratch)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

struct SplitPart {
  IndexId index{}; // a reduced one
  std::int64_t parts = 1;
  friend bool operator==(const SplitPart &, const SplitPart &) = default;
};

// Empty: the reduction stays whole.
using ReductionSplit = std::vector<SplitPart>;

// Parts in all: accumulators per output.
std::int64_t part_count(const ReductionSplit &split);

// Why a nest's reduction cannot be split so, or nothing when it can.
std::optional<std::string> illegal_split(const Nest &nest, const ReductionSplit &split);

struct SplitNests {
  Nest partial;
  Nest join;
  // Of each nest, by its slots: the slot of the whole nest, nothing for the scratch between them.
  std::vector<std::optional<SlotId>> partial_slots;
  std::vector<std::optional<SlotId>> join_slots;
};

// Requires a legal split that is not empty. The scratch has parts outermost and the outputs in the
// order in which the result lies, without gaps, but for the last along which an input's elements
// are neighbours: where it is longer than the result's runs it is innermost, so that parts leave as
// neighbours where results do not (those of a filter's gradient, [m, c, r, s] of images
// [n, y, x, c]: [m, r, s, c]), and the join alone turns them. The join's indices are merged where
// they can be, or `by_tiles` those of the whole, so that a block of the partial nest can join its
// tile (schedule/tile_join.h).
SplitNests split_reduction(const Nest &nest, const ReductionSplit &split, bool by_tiles = false);

// "c:8 y:2", or "none".
std::string to_text(const Nest &nest, const ReductionSplit &split);
// Reads it back. Error{Syntax} for an index that the nest does not have.
ReductionSplit parse_split(const Nest &nest, std::string_view text,
                           const std::string &file = "<split>");

} // namespace tilefuse::nest
