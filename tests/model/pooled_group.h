// SPDX-License-Identifier: Apache-2.0
// A convolution whose results are summed over the pixels of an image, as one group.
#pragma once

#include <string>

#include <fmt/format.h>

#include "poly/group.h"

namespace tilefuse::model {

struct Pooled {
  int n = 5, size = 3, c = 16, m = 72, taps = 3;
  std::string in = "f16", out = "f16", acc = "f32", post = "f16(max(acc + $0, 0))";
};

// Global average pooling without its division, of a convolution with bias and ReLU, NHWC.
inline poly::Group pooled_group(const Pooled &v) {
  const int row = v.size * v.m, image = v.size * row;
  const int in_row = v.size * v.c, in_image = v.size * in_row;
  return poly::parse_group(fmt::format(
      R"(group
anchor nest reduce {{
  index n {0}, m {3} | y {1}, x {1}
  slot 0 {5} {8}, 1 f32 {9}
  acc f32 = sum
  in 0 + 0 [n:{0}*{10}, y:{1}*{11}, x:{1}*{3}, m:{3}*1]
  out 1 + 0 [n:{0}*{3}, m:{3}*1]
  post acc
}}
produce input 0 of 0 slots 2 3 0 4
nest conv {{
  index n {0}, y {1}, x {1}, m {3} | r {4}, s {4}, c {2}
  slot 0 {6} {12}, 1 {6} {13}, 2 {5} {8}, 3 f32 {3}
  acc {7} = sum mul
  in 0 + 0 [n:{0}*{14}, y + r - {15}:{1}?*{16}, x + s - {15}:{1}?*{2}, c:{2}*1]
  in 1 + 0 const [m:{3}*{17}, r:{4}*{18}, s:{4}*{2}, c:{2}*1]
  out 2 + 0 [n:{0}*{10}, y:{1}*{11}, x:{1}*{3}, m:{3}*1]
  extra 3 + 0 const [m:{3}*1]
  post {19}
}}
)",
      v.n, v.size, v.c, v.m, v.taps, v.out, v.in, v.acc, v.n * image, v.n * v.m, image, row,
      v.n * in_image, v.m * v.taps * v.taps * v.c, in_image, v.taps / 2, in_row,
      v.taps * v.taps * v.c, v.taps * v.c, v.post));
}

} // namespace tilefuse::model
