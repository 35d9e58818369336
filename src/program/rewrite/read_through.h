// SPDX-License-Identifier: Apache-2.0
// A contraction that reads what was moved where it lay before.
//
//   %2 = view(%1)                         with %1 : f32[197, 32, 768], %2 : f32[197, 384, 64]
//   %3 = sum[p, m, n, k](%2[m, p, k] * …) -> [p, m, n]
// reads through the view
//   %3 = sum[p0, p1, m, n, k](%1[m, p0, 64*p1 + k] * …) -> [p0, p1, m, n]
//
// so that the result has a dimension more, and is what it was through a view.
#pragma once

#include <vector>

#include "program/program.h"
#include "program/rewrite/movement.h"
#include "program/rewrite/regroup.h"

namespace tilefuse::program {

class ReadThrough {
public:
  // `body` computes a tensor of `shape`; `program` outlives this.
  ReadThrough(const Program &program, Contraction body, Shape shape);

  // Operand `k` as it is read before its movement. False, and anything, where it cannot be: an
  // index of the contraction would not be split alike everywhere, or what is beyond the moved
  // tensor would be read.
  bool read_before(std::size_t k, const Movement &movement);
  // Whether the indices that one index became step through operand `k` like one, or run over results
  // alone, and sums of many products read rows of it, or sums of it alone its channels.
  bool is_regular(std::size_t k) const;
  // Writes a result whose elements, in row-major order, are those of a shape of `factors`, none of
  // them 1, with its dimensions in another order. False, and anything, where it cannot.
  bool write_as(const Shape &factors, const std::vector<std::size_t> &order);
  // Drops dimensions of the result of one element whose index nothing reads; whether there were some.
  bool drop_idle_indices();
  // Keeps indices in their ranges that no subscript keeps any more: an operand is read in a shape that
  // has their dimension, else there is a condition more.
  void bound_indices();

  const Contraction &body() const { return body_; }
  const Shape &shape() const { return shape_; }
  // The shape in which operand `k` is read, through a view where it is not its tensor's.
  const Shape &operand_shape(std::size_t k) const { return operand_shapes_[k]; }

private:
  Extents extents() const;
  bool is_output(std::size_t index) const;
  bool read_before_view(std::size_t k, const Shape &before);
  bool read_before_gather(std::size_t k, const std::vector<Affine> &subscripts);
  bool split(std::size_t index, const Shape &factors);
  // Dimension `d` of the result as one for each part of an index, of which `first` is the first.
  void split_result(std::size_t d, std::size_t first, const Shape &factors);
  bool split_dimension(std::size_t k, std::size_t index);
  void set_to_zero(std::size_t index);

  const Program *program_;
  Contraction body_;
  Shape shape_;
  std::vector<Shape> operand_shapes_;
  Extents extents_;                  // of indices, as they were given
  std::vector<std::size_t> origins_; // by index: the given index that it is a part of
};

} // namespace tilefuse::program
