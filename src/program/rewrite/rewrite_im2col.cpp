// SPDX-License-Identifier: Apache-2.0
// The product over copied-out windows. Where operand D is read through windows,
//
//   col[n, y, x, c, r, s] = D[n, c, y + r - 1, x + s - 1]     one element per pixel and tap
//   O[n, m, y, x] = sum of col[n, y, x, c, r, s] * K[m, c, r, s]
//
// and where the result is written through them,
//
//   col[n, y, x, c, r, s] = sum over m of E[n, m, y, x] * K[m, c, r, s]
//   O[n, c, y + r - 1, x + s - 1] = sum of col[n, y, x, c, r, s]
#include "program/rewrite/rewrite_im2col.h"

#include <algorithm>

#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

// The indices that the subscripts use: those of the result in its order, then the others in the
// order of `other`, so that the product is one of matrices.
std::vector<int> used_in_order(const std::vector<Affine> &subscripts, const Contraction &body,
                               const std::vector<Affine> &other) {
  std::vector<int> order;
  const auto add = [&](int index) {
    if (uses(subscripts, index) && std::find(order.begin(), order.end(), index) == order.end())
      order.push_back(index);
  };
  for (const std::vector<Affine> *list : {&body.out, &other})
    for (const Affine &subscript : *list)
      if (plain_index(subscript) >= 0)
        add(plain_index(subscript));
  for (int i = 0; i < static_cast<int>(body.indices.size()); ++i)
    add(i);
  return order;
}

} // namespace

std::string rewrite_im2col(Program &program, const Product &product) {
  const Contraction &body = product.body;
  const bool reads = !is_plain(body.in[0].subscripts) || !is_plain(body.in[1].subscripts);
  const bool writes = !is_plain(body.out);
  if (!reads && !writes)
    return "nothing is read or written through windows";
  if (reads && writes)
    return "it is read and written through windows";
  Rewriter rewriter(program, product, "im2col");
  if (reads) {
    Contraction rest = body;
    for (std::size_t k = 0; k < rest.in.size(); ++k) {
      if (is_plain(body.in[k].subscripts))
        continue;
      Contraction copy{.agg = Agg::Assign, .indices = body.indices, .in = {body.in[k]}};
      rest.in[k] =
          rewriter.temporary("windows", program[body.in[k].tensor].type,
                             used_in_order(body.in[k].subscripts, body, body.in[1 - k].subscripts),
                             product.extents, std::move(copy));
    }
    rewriter.result("product", std::move(rest));
    return {};
  }
  const DType type = accumulator_type(program[product.out].type);
  Contraction sum{.agg = Agg::Sum, .indices = body.indices, .out = body.out};
  sum.in = {rewriter.temporary("product", type,
                               used_in_order(body.out, body, body.in[1].subscripts),
                               product.extents, body)};
  rewriter.result("windows", std::move(sum));
  return {};
}

} // namespace tilefuse::program
