// SPDX-License-Identifier: Apache-2.0
// oneDNN as a peer: one convolution with bias and ReLU, layouts of its own choice, random data.
#pragma once

#include <memory>

#include "layers.h"

namespace tilefuse::bench {

class OneDnnConv {
public:
  explicit OneDnnConv(const Layer &layer);
  ~OneDnnConv();
  // Seconds of one execution, waited for.
  double run();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse::bench
