// SPDX-License-Identifier: Apache-2.0
// Convolution layers of known networks, by name, batch 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilefuse::bench {

struct Layer {
  std::string name;
  std::int64_t channels, height, width;  // of the input
  std::int64_t outputs;                  // channels of the result
  std::int64_t kernel, stride, pad;

  std::int64_t out_height() const { return (height + 2 * pad - kernel) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * pad - kernel) / stride + 1; }
  double flops() const {
    return 2.0 * static_cast<double>(outputs * out_height() * out_width() * channels * kernel * kernel);
  }
};

std::vector<Layer> squeezenet_layers();
std::vector<Layer> resnet50_layers();

}  // namespace tilefuse::bench
