// SPDX-License-Identifier: Apache-2.0
// Scale and zero point of 8-bit integers for the values that a tensor has: scale * (integer - zero),
// 0 among them. Numbers are those that onnxruntime's quantiser takes.
#pragma once

namespace tilefuse::program {

// Of values; empty as it is made.
struct Range {
  double low = 0;
  double high = 0;
};
// The smallest that holds both.
Range joined(const Range &a, const Range &b);

struct LinearScale {
  float scale = 1;
  int zero = 0;
};

// Of u8: the ends of the range, moved to hold 0, are 0 and 255.
LinearScale unsigned_scale(const Range &range);
// Of i8 around 0: the largest magnitude is 127.
float signed_scale(double largest);

} // namespace tilefuse::program
