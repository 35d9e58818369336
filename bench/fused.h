// SPDX-License-Identifier: Apache-2.0
// Convolutions and gradients whose operands maps compute, apart and fused, as bench_fused measures
// them beside chains of layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poly/group.h"
#include "target/target.h"

namespace tilefuse::bench {

// BatchNorm and ReLU before a convolution, or the gradient of one by its input, its filter or both:
// dy * f'(y) comes first, and for the filter the activation of x.
struct MapBlock {
  std::string name;
  std::int64_t batch = 1, channels = 64, size = 56; // of x
  std::int64_t outputs = 64;                        // channels of y
  std::int64_t taps = 3, stride = 1;
  bool by_input = false, by_filter = false, is_forward = false;
  std::string type = "f32"; // of what lies in memory
};

std::vector<MapBlock> map_blocks();

// The kernels in order: maps on their own; each where it is staged; or as the model decides.
enum class Fusing { Apart, Forced, Judged };
std::vector<poly::PlacedGroup> map_groups(const MapBlock &block, Fusing how, const Target &target);

} // namespace tilefuse::bench
