// SPDX-License-Identifier: Apache-2.0
#include "nest/evaluate/within.h"

#include "base/error.h"

namespace tilefuse::nest {
namespace {

void shift(Linear &at, const std::vector<std::int64_t> &first) {
  for (std::size_t i = 0; i < first.size(); ++i)
    at.constant += at.coeff[i] * first[i];
}

void shift(Operand &operand, const std::vector<std::int64_t> &first) {
  for (Dim &dim : operand.dims)
    shift(dim.at, first);
}

} // namespace

Nest within(const Nest &nest, const Box &box) {
  TILEFUSE_CHECK(box.first.size() == static_cast<std::size_t>(nest.output_indices) &&
                     box.count.size() == box.first.size(),
                 "a box of other indices than the nest's");
  Nest part = nest;
  for (std::size_t i = 0; i < box.first.size(); ++i)
    part.indices[i].extent = box.count[i];
  for (Operand &input : part.inputs)
    shift(input, box.first);
  for (Operand &extra : part.extras)
    shift(extra, box.first);
  shift(part.out, box.first);
  for (Constraint &constraint : part.constraints)
    shift(constraint.expr, box.first);
  return part;
}

} // namespace tilefuse::nest
