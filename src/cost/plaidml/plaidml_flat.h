// SPDX-License-Identifier: Apache-2.0
// The kernel as PlaidML v0's cost model sees it: a box of indices in alphabetical order and, per
// tensor, an offset and one row-major stride per index. The flattening table is this value:
//
//              Range         O         D         K
//       ci        64         0         1         1
//       co        64         1         0        64
//        i         3         0     14336     12288
//      off                   0    -14400         0
//
// Element-wise work fused behind a contraction is counted (`post_ops`) and its extra inputs are
// kept beside the contraction's own. Everything here and in the other plaidml_* files follows
// PlaidML 0.7.0 including its quirks; it exists to reproduce its figures and is never the default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/plaidml/plaidml_settings.h"

namespace tilefuse::cost::plaidml {

// How a tensor is addressed, in elements (in vectors of elements once vectorised).
struct Access {
  std::string name;
  std::int64_t element_bytes = 4;
  std::int64_t vector = 1; // elements that are read or written at once
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::vector<std::int64_t> strides; // by index
  std::int64_t bytes() const { return element_bytes * vector; }
  friend bool operator==(const Access &, const Access &) = default;
};

// Points with sum of coeff[i] * index i <= bound take part.
struct Limit {
  std::vector<std::int64_t> coeff;
  std::int64_t bound = 0;
  friend bool operator==(const Limit &, const Limit &) = default;
};

struct Flat {
  std::vector<std::string> names;
  std::vector<std::int64_t> ranges;
  std::vector<Access> accesses;    // the result, then the contraction's inputs
  std::vector<Access> post_inputs; // read by the fused element-wise operations
  std::vector<Limit> limits;       // what the ranges do not imply
  std::int64_t post_ops = 0;       // primitive operations per output element
  std::int64_t kernel_outputs = 1; // tensors written
  bool is_contraction = true;      // else element-wise alone
  std::size_t rank() const { return ranges.size(); }
  // Whether index i is one of the result's.
  bool is_output(std::size_t i) const { return accesses[0].strides[i] != 0; }
  friend bool operator==(const Flat &, const Flat &) = default;
};

// Points per work-group, by index.
using Tile = std::vector<std::int64_t>;

// Smallest power of two that is >= x.
std::int64_t power_of_two_from(std::int64_t x);
// a / b rounded up, for positive numbers.
std::int64_t ceil_div(std::int64_t a, std::int64_t b);

// Fuses index i into j where the result's strides are contiguous (stride_i = range_j * stride_j)
// and every other tensor has exactly the result's strides; nothing at all under a limit. An index
// that a tensor does not use is not fused, even where no tensor uses it.
Flat simplify(Flat flat);

// Makes the result's stride-1 indices count vectors, of settings.vec_size elements or the largest
// half, quarter, … that fits: no limits, no 8-byte elements, and offset, size and other strides of
// every tensor divisible. Else returns the argument.
Flat vectorize(const Flat &flat, const Settings &settings);

// Both, in PlaidML's order: the form whose tiles are searched.
Flat prepare(const Flat &flat, const Settings &settings);

} // namespace tilefuse::cost::plaidml
