// SPDX-License-Identifier: Apache-2.0
// How often a tensor's elements have which magnitude, over all runs of a calibration: counts in steps
// of equal width, which doubles when a larger magnitude comes; and where 8-bit integers may clip.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "program/host_tensor.h"
#include "program/precision/linear_scale.h"

namespace tilefuse::model {

enum class Clipping { None, Percentile, Entropy };
// "none", "percentile", "entropy".
std::optional<Clipping> parse_clipping(std::string_view name);

class Magnitudes {
public:
  void add(const program::HostTensor &tensor);
  // What was added, clipped at a magnitude.
  program::Range range(Clipping clipping, double percentile) const;

private:
  void count(double magnitude);
  double at_percentile(double percentile) const;
  // Where least is lost of the distribution's information (Migacz 2017, "8-bit Inference with
  // TensorRT"): Kullback and Leibler's divergence of what `levels` integers keep of it.
  double at_least_entropy(std::size_t levels) const;

  program::Range seen_;
  double width_ = 0; // of a step; 0: nothing but zeros
  std::int64_t zeros_ = 0;
  std::vector<std::int64_t> counts_;
};

} // namespace tilefuse::model
