// SPDX-License-Identifier: Apache-2.0
// Gradients behind a ReLU, apart and fused, as bench_fused measures them beside chains of layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poly/group.h"
#include "target/target.h"

namespace tilefuse::bench {

// The gradient of a convolution by its input, its filter or both; dy * f'(y) comes first, and for
// the filter the activation of x.
struct BackwardBlock {
  std::string name;
  std::int64_t batch, channels, size; // of x
  std::int64_t outputs;               // channels of y
  std::int64_t taps, stride;
  bool by_input, by_filter;
};

std::vector<BackwardBlock> backward_blocks();

// The kernels in order: maps on their own; each where it is staged; or as the model decides.
enum class Fusing { Apart, Forced, Judged };
std::vector<poly::PlacedGroup> backward_groups(const BackwardBlock &block, Fusing how,
                                               const Target &target);

} // namespace tilefuse::bench
