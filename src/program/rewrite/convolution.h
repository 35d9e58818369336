// SPDX-License-Identifier: Apache-2.0
// A contraction read as an ungrouped convolution of one to three spatial dimensions, in whatever
// order data, filter and result lie:
//
//   sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r - 3, 2*x + s - 3] * %1[m, c, r, s]) -> [n, m, y, x]
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// step * output + dilation * tap - before
struct Window {
  std::int64_t step = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
};

// One spatial dimension.
struct Spatial {
  Window window;
  int output = -1; // indices of the contraction
  int tap = -1;
  std::size_t in_data = 0; // dimensions
  std::size_t in_filter = 0;
};

struct Convolution {
  TensorId data{};
  TensorId filter{};
  int image = 0; // indices of the contraction
  int feature = 0;
  int channel = 0;
  std::size_t image_in_data = 0; // dimensions
  std::size_t channel_in_data = 0;
  std::size_t feature_in_filter = 0;
  std::size_t channel_in_filter = 0;
  std::vector<Spatial> spatial; // in the data's order: rows before columns
};

// Whether matrix units multiply floats of the type: those of 2 bytes, and f32 that may be rounded.
bool suits_matrix_units(const Program &program, DType type);

// Data is the first operand, the filter the second.
std::optional<Convolution> as_convolution(const Contraction &body);

} // namespace tilefuse::program
