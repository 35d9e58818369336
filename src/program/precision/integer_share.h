// SPDX-License-Identifier: Apache-2.0
// How much of a quantised program's arithmetic is done in integers, and why the rest is not.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct IntegerShare {
  int products = 0; // sums of products
  int in_integers = 0;
  double multiply_adds = 0;
  double integer_multiply_adds = 0;
  std::vector<std::string> kept; // sums of products of floats, with the reason
};

// Whether some tensor has integers of 8 bits and a sum of products follows it.
bool is_quantized(const Program &program);
IntegerShare integer_share(const Program &program);

// "integers 21 of 22 products, 99.8 % of 40.8 M multiply-adds", a line.
std::string summary(const IntegerShare &share);
// The summary, and a line for each product of floats.
std::string to_text(const IntegerShare &share);

} // namespace tilefuse::program
