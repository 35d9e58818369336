// SPDX-License-Identifier: Apache-2.0
#include "gpu_odd.h"

namespace tilefuse::bench {
namespace {

constexpr std::int64_t kFront = 16; // of volumes

struct Row {
  const char *name;
  int dims;
  std::int64_t channels, size, outputs, kernel, stride, dilation, pad, groups;
};

constexpr Row kRows[] = {
    {"odd_channels", 2, 35, 28, 70, 3, 1, 1, 1, 1},
    {"odd_1x1", 2, 99, 28, 51, 1, 1, 1, 0, 1},
    {"even_channels", 2, 100, 28, 36, 3, 1, 1, 1, 1},
    {"groups_2", 2, 256, 28, 256, 3, 1, 1, 1, 2},
    {"groups_8", 2, 256, 28, 256, 3, 1, 1, 1, 8},
    {"groups_32", 2, 128, 56, 128, 3, 1, 1, 1, 32},
    {"depthwise", 2, 256, 28, 256, 3, 1, 1, 1, 256},
    {"window_5", 2, 64, 28, 96, 5, 1, 1, 2, 1},
    {"window_7", 2, 64, 56, 64, 7, 1, 1, 3, 1},
    {"dilated_2", 2, 256, 28, 256, 3, 1, 2, 2, 1},
    {"dilated_4", 2, 256, 28, 256, 3, 1, 4, 4, 1},
    {"stride_3", 2, 128, 57, 128, 5, 3, 1, 2, 1},
    {"line", 1, 128, 1024, 256, 9, 1, 1, 4, 1},
    {"volume", 3, 64, 28, 64, 3, 1, 1, 1, 1},
    {"first_3x3", 2, 3, 112, 64, 3, 1, 1, 1, 1},
    {"first_11x11", 2, 3, 224, 64, 11, 4, 1, 2, 1},
    {"few_channels", 2, 8, 112, 32, 3, 1, 1, 1, 1},
};

} // namespace

std::vector<ConvProblem> odd_problems() {
  std::vector<ConvProblem> problems;
  for (const Row &row : kRows)
    problems.push_back({.name = row.name,
                        .channels = row.channels,
                        .height = row.dims > 1 ? row.size : 1,
                        .width = row.size,
                        .outputs = row.outputs,
                        .taps_y = row.kernel,
                        .taps_x = row.kernel,
                        .stride = row.stride,
                        .dilation = row.dilation,
                        .pad = row.pad,
                        .dims = row.dims,
                        .front = row.dims > 2 ? kFront : 1,
                        .groups = row.groups});
  return problems;
}

} // namespace tilefuse::bench
