// SPDX-License-Identifier: Apache-2.0
// One convolution in one of its three directions as a program of ours and as a primitive of
// oneDNN's, batch and all, on random data.
#pragma once

#include <memory>

#include "layers.h"
#include "model/session.h"

namespace tilefuse::bench {

enum class Direction { Forward, Data, Weights };

// "forward", "data", "weights". Error{Unsupported} for another name.
Direction direction_of(const std::string &name);

// y = conv(x, K), its gradient by x or by K; channels last, filters [r][s][c][m]. What a direction
// does not differentiate and a network holds fixed is a constant.
program::Program direction_program(const Layer &layer, Direction direction, std::int64_t batch,
                                   const tile::Library &ops);

// A program on a device with random inputs.
class OurDirection {
public:
  OurDirection(const program::Program &program, runtime::Device &device);
  // Seconds of one run.
  double run() { return session_->run_again(); }
  int kernels() const { return session_->stats().kernels; }
  std::vector<model::KernelReport> profile() { return session_->profile(3).kernels; }

private:
  runtime::KernelCache cache_;
  std::unique_ptr<model::Session> session_;
};

} // namespace tilefuse::bench
