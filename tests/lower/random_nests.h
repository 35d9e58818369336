// SPDX-License-Identifier: Apache-2.0
// Random nests of the kinds networks are made of, with small extents chosen to be awkward (1,
// primes, 3 channels), and random legal schedules for them. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/index.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::testing {

class Random {
public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T> const T &of(const std::vector<T> &values) {
    return values[at(between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  std::mt19937_64 &engine() { return engine_; }

private:
  std::mt19937_64 engine_;
};

// A convolution, pooling, depthwise convolution, matrix product or map; channels-last or
// channels-first storage.
nest::Nest random_nest(Random &random, DType type);

// A 2-D convolution with groups; channel counts are per group.
struct ConvShape {
  std::int64_t images = 1, groups = 1, outputs = 8, inputs = 4;
  std::int64_t height = 7, width = 7, kernel = 3, stride = 1, dilation = 1, before = 1, after = 1;
  bool channels_last = true;
};
nest::Nest conv_nest(const ConvShape &shape);

// A random legal schedule; the scalar one when none is found in a number of tries.
schedule::Schedule random_schedule(Random &random, const nest::Nest &nest, const Target &target);

// Element arrays for the slots of a nest, filled with integers in [-4, 4].
std::vector<std::vector<std::byte>> integer_slots(Random &random, const nest::Nest &nest);

// The result of `nest` as its kernel computes it in the simulator.
std::vector<std::byte> simulated(const nest::Nest &nest, const schedule::Schedule &schedule,
                                 const Target &target, std::vector<std::vector<std::byte>> slots);
// The same by the nest evaluator.
std::vector<std::byte> evaluated(const nest::Nest &nest, std::vector<std::vector<std::byte>> slots);
// Arguments of the kernel in order: slots, and packed constants that `packed` keeps.
std::vector<std::span<std::byte>> arguments(const nest::Nest &nest,
                                            const schedule::Schedule &schedule,
                                            std::vector<std::vector<std::byte>> &slots,
                                            std::vector<std::vector<std::byte>> &packed);

} // namespace tilefuse::testing
