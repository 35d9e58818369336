// SPDX-License-Identifier: Apache-2.0
// A program cut where something is summed over lanes. Behind each segment but the last, lane sums that
// it made are added over all lanes; later ones read what they came to:
//
//   0   pictures … first convolution, its sums      | lane sums 0, 1
//   1   normalisation … next convolution, its sums  | lane sums 2, 3
//   …
//   2n  gradients of the first layers
//
// A statement stands in the first segment that has all it reads; a view is repeated wherever it is
// read.
#pragma once

#include <cstddef>
#include <vector>

#include "program/program.h"

namespace tilefuse::train {

struct Segment {
  program::Program program;
  // Its inputs and outputs, as tensors of the whole program.
  std::vector<program::TensorId> inputs, outputs;
  std::vector<std::size_t> lane_sums; // that are complete behind it, by number
};

// Of a program whose last outputs are so many lane sums, and whose last inputs what these are over all
// lanes; as a whole the program where there are none.
std::vector<Segment> cut(const program::Program &whole, std::size_t lane_sums);

} // namespace tilefuse::train
