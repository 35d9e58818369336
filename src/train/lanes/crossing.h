// SPDX-License-Identifier: Apache-2.0
// Where tensors lie that cross from one segment of a program into later ones (segments.h): in one piece
// of memory, each where nothing lies that is alive at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "train/lanes/segments.h"

namespace tilefuse::train {

struct Crossing {
  program::TensorId tensor{};
  std::size_t first = 0, last = 0; // segments: that makes it, and the last that reads it
  std::int64_t offset = 0;         // bytes
};

struct Crossings {
  std::vector<Crossing> tensors;
  std::int64_t bytes = 0; // of all
};

// All but those that have a place already.
Crossings place_crossings(const program::Program &whole, std::span<const Segment> segments,
                          std::int64_t alignment,
                          const std::function<bool(program::TensorId)> &is_placed);

} // namespace tilefuse::train
