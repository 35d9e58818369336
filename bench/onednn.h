// SPDX-License-Identifier: Apache-2.0
// oneDNN as a peer: one convolution, layouts of its own choice, random data.
#pragma once

#include <memory>

#include "directions.h"

namespace tilefuse::bench {

class OneDnnConv {
public:
  // Batch 1, with bias and ReLU.
  explicit OneDnnConv(const Layer &layer);
  // The convolution alone, or its gradient by its input or filter.
  OneDnnConv(const Layer &layer, Direction direction, std::int64_t batch);
  ~OneDnnConv();
  // Seconds of one execution, waited for.
  double run();

private:
  void fill();

  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse::bench
