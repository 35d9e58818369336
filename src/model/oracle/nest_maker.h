// SPDX-License-Identifier: Apache-2.0
// Builds a random nest index by index, then operand by operand; storage is drawn on the way.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "nest/nest.h"

namespace tilefuse::model {

// A dimension of an operand: sum of coefficient * index + constant, in [0, size).
struct Subscript {
  std::vector<std::pair<int, std::int64_t>> terms;
  std::int64_t constant = 0;
  std::int64_t size = 1;
};

class NestMaker {
public:
  NestMaker(Random &random, std::string name, DType type);

  Random &random() { return random_; }
  nest::Nest &nest() { return nest_; }
  DType type() const { return type_; }

  // All indices come before the first operand, outputs before reduced ones.
  int output(const std::string &name, std::int64_t extent);
  int reduced(const std::string &name, std::int64_t extent);
  std::int64_t extent(int index) const;
  // The whole of an index as a dimension.
  Subscript whole(int index) const { return {{{index, 1}}, 0, extent(index)}; }

  // Dimensions in a random order of memory, now and then with gaps; guarded where a subscript can
  // leave its size.
  nest::Operand operand(const std::vector<Subscript> &dims, DType type, bool constant = false);
  void input(const std::vector<Subscript> &dims, bool constant = false);
  void out(const std::vector<Subscript> &dims, DType type);
  // Adds pointwise operations on the accumulator: bias by the first output index, residual of the
  // whole result, activations.
  void add_post(const std::vector<Subscript> &out_dims);

private:
  program::Expr step(const program::Expr &value, const std::vector<Subscript> &out_dims);
  program::Expr extra(const std::vector<Subscript> &dims, bool constant);

  Random &random_;
  nest::Nest nest_;
  DType type_;
};

} // namespace tilefuse::model
