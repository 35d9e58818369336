// SPDX-License-Identifier: Apache-2.0
// Boxes of elements of a tensor, and which of its elements statements write.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// Elements with lo[d] <= subscript d < hi[d].
struct Box {
  Shape lo;
  Shape hi;
  friend bool operator==(const Box &, const Box &) = default;
};

Box whole(const Shape &shape);
bool is_empty(const Box &box);
bool are_disjoint(const Box &a, const Box &b);
// Whether every element of `box` is in one of `parts`. Gives up (false) when the rest falls into
// very many pieces.
bool is_covered(const Box &box, std::span<const Box> parts);

// Whether a contraction without an init, whose result alone lies in its buffer, has every element
// of that written: each dimension of several elements has indices of its own. Where nothing is
// computed the nests that it is flattened to write 0.
bool spans_result(const Shape &shape, const Contraction &contraction);

// A contraction that copies all of `in` to the box that starts at `at` and does nothing else.
struct Slice {
  TensorId in{};
  Shape at;
};
std::optional<Slice> as_slice(const Program &program, const Statement &statement);
Box box_of(const Slice &slice, const Program &program);

// out[i…] = in[i…]: the contraction that copies a tensor of `rank` dimensions.
Contraction identity(TensorId in, std::size_t rank);

} // namespace tilefuse::program
