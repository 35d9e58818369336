// SPDX-License-Identifier: Apache-2.0
// What to do where steps wait for pictures: a sentence that names the stage which takes most of the time
// of the threads that load them.
#pragma once

#include <string>

#include "data/loader.h"

namespace tilefuse::train {

struct Feeding {
  double waited = 0; // share of the time that steps waited
  data::LoaderTimes times;
  bool decodes = false; // pictures are decoded when they are read
  int threads = 1;      // that load them
  int cores = 1;
};

inline constexpr double kStarved = 0.02; // from this share on

// "starved  31 % of the time waits for pictures; most of it is decoding: …", a line.
std::string advice(const Feeding &feeding);

} // namespace tilefuse::train
