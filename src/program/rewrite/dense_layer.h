// SPDX-License-Identifier: Apache-2.0
// Products of a tensor of points by channels and a filter of channels alone, a dense layer or a
// convolution of one tap, in any order of dimensions:
//
//   x[p, m] = sum[p, m, c](a[p, c] * w[m, c])         p: any number of indices
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/index.h"
#include "program/program.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {

struct DenseLayer {
  Product product;
  std::size_t data = 0;     // which operand is a; the other is w
  std::vector<int> x, a, w; // by dimension the product's index, -1 where there is one element
  int m = -1;
  int c = -1;
  const Access &data_access() const { return product.body.in[data]; }
  const Access &filter_access() const { return product.body.in[1 - data]; }
  // Dimensions: the channel of x and of a, and those of w.
  std::size_t channel() const;
  std::size_t rows() const;    // m
  std::size_t columns() const; // c
  std::int64_t results() const { return product.extents[at(m)]; }
  std::int64_t inputs() const { return product.extents[at(c)]; }
};

// Of a statement and which of its operands is a, where a and x have their points in the same order,
// each of them once.
std::optional<DenseLayer> dense_layer(const Program &program, const Statement &statement,
                                      std::size_t data);

// Whether a product is, with other indices, sum(one * other) -> out, each of them indexed by
// dimension as these indices of a layer say.
struct IndexedTensor {
  TensorId tensor{};
  const std::vector<int> &indices;
};
bool is_of_layer(const Program &program, const Product &product, const IndexedTensor &one,
                 const IndexedTensor &other, const std::vector<int> &out);

} // namespace tilefuse::program
