// SPDX-License-Identifier: Apache-2.0
// What bench_fused measures apart and fused: chains of layers, and convolutions and gradients whose
// operands maps compute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poly/group.h"
#include "target/target.h"

namespace tilefuse::bench {

// A layer on an image of channels, rows and columns, channels last in memory.
struct ChainStep {
  enum class Kind { Mix, Deep, Conv, Pool, Activate } kind;
  std::int64_t outputs; // channels
  std::int64_t taps = 1;
  std::int64_t stride = 1;
};

struct ChainBlock {
  std::string name;
  std::int64_t channels, size;
  std::vector<ChainStep> steps;
};

std::vector<ChainBlock> chain_blocks();

// The nests of a block, each with buffers of its own for constants and for its result.
std::vector<poly::PlacedGroup> chain(const ChainBlock &block);
// All in one group.
poly::PlacedGroup fused_chain(const std::vector<poly::PlacedGroup> &all);

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
