// SPDX-License-Identifier: Apache-2.0
// One convolution, or one of its gradients, as the kernels that compute it: what the GPU bench
// times and checks. Tensors lie with channels innermost, filters as [m][r][s][c].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poly/group.h"
#include "program/program.h"
#include "program/storage/storage.h"
#include "target/dtype.h"
#include "target/target.h"

namespace tilefuse::bench {

enum class Direction { Forward, InputGradient, FilterGradient };
// What follows a forward convolution: nothing; ReLU; or bias, an added tensor and ReLU. With 8-bit
// integers results are scaled per channel, rounded and saturated first.
enum class Epilogue { Plain, Relu, Full };

struct ConvProblem {
  std::string name;
  std::int64_t batch = 1, channels = 1, height = 1, width = 1; // of the input
  std::int64_t outputs = 1;
  std::int64_t taps_y = 1, taps_x = 1;
  std::int64_t stride = 1, dilation = 1, pad = 0;
  DType type = DType::F16;
  bool tf32 = false; // products of f32 may be rounded to it
  Epilogue epilogue = Epilogue::Plain;
  bool in_blocks = false; // channels in blocks of 32 outside the pixels; 8-bit forward only
  int dims = 2;           // spatial ones: x, y, z; taps along z are as many as along y
  std::int64_t front = 1; // of the input along z
  std::int64_t groups = 1;

  std::int64_t out_height() const {
    return (height + 2 * pad - dilation * (taps_y - 1) - 1) / stride + 1;
  }
  std::int64_t out_front() const {
    return (front + 2 * pad - dilation * (taps_y - 1) - 1) / stride + 1;
  }
  std::int64_t out_width() const {
    return (width + 2 * pad - dilation * (taps_x - 1) - 1) / stride + 1;
  }
  // Two per product of forward convolution; the gradients have as many.
  double flops() const;
};

// "n32 c64 56x56 k64 3x3 s1 d1 p1 f16".
std::string to_text(const ConvProblem &problem);
std::string to_string(Direction direction);

// The convolution or its gradient, simplified; constants are zeros. Error{Type} for a gradient of
// integers.
program::Program program_of(const ConvProblem &problem, Direction direction);

// As a user of the compiler gets it: with what the target wants laid out otherwise first.
struct Work {
  program::StoredProgram stored;
  std::vector<poly::PlacedGroup> groups; // in launch order
};

// Error{Type} for a gradient of integers.
Work work_of(const ConvProblem &problem, Direction direction, const Target &target);

} // namespace tilefuse::bench
