// SPDX-License-Identifier: Apache-2.0
// Gradients of contractions: sums, and what an init keeps.
#include "program/gradient/gradient_contraction.h"

#include <fmt/format.h>

#include "program/gradient/gradient_extremum.h"
#include "program/gradient/gradient_points.h"
#include "program/gradient/gradient_product.h"
#include "program/gradient/gradient_sum.h"
#include "program/storage/boxes.h"
#include "program/storage/written.h"

namespace tilefuse::program {
namespace {

// Zero over the box, elsewhere `init`.
Contraction clear_box(GradientBuilder &builder, const Box &box, const Shape &shape, DType type) {
  Contraction body;
  body.agg = Agg::Assign;
  body.in = {{builder.fill(type, {}, 0), {}}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    body.indices.push_back(fmt::format("i{}", d));
    Affine at{std::vector<Rational>(shape.size()), Rational(0)};
    at.coeff[d] = Rational(1);
    if (box.lo[d] > 0 || box.hi[d] < shape[d])
      body.constraints.push_back({at, box.hi[d] - box.lo[d]});
    at.constant = Rational(box.lo[d]);
    body.out.push_back(std::move(at));
  }
  return body;
}

// Zero over the elements that the contraction writes, elsewhere `init`.
Contraction clear_written(GradientBuilder &builder, const Contraction &contraction, DType type) {
  Contraction body = same_points(contraction);
  body.agg = contraction.agg == Agg::Assign ? Agg::Assign : Agg::Sum;
  body.out = contraction.out;
  body.in = {{builder.fill(type, {}, 0), {}}};
  restrict_to(builder, body, contraction.in);
  return body;
}

// The init gets the gradient of what is not written. `box`: what is, where that is known.
void differentiate_init(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                        TensorId gradient, const std::optional<Box> &box) {
  const Tensor tensor = builder.program()[out];
  if (box && *box == whole(tensor.shape))
    return;
  if (box && is_empty(*box))
    return builder.contribute(*contraction.init, gradient);
  Contraction body = box ? clear_box(builder, *box, tensor.shape, tensor.type)
                         : clear_written(builder, contraction, tensor.type);
  body.init = gradient;
  const TensorId cleared = builder.emit(
      {.name = builder.name_of(*contraction.init), .type = tensor.type, .shape = tensor.shape},
      std::move(body));
  if (box)
    builder.note_cleared(cleared, gradient, *box);
  builder.contribute(*contraction.init, cleared);
}

} // namespace

void differentiate(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                   TensorId gradient) {
  const std::optional<Box> box =
      written_box(builder.program(), builder.program()[out].shape, contraction);
  if (contraction.init && builder.is_wanted(*contraction.init))
    differentiate_init(builder, out, contraction, gradient, box);
  if (box)
    gradient = builder.same_in(gradient, *box);
  bool any = false;
  for (const Access &access : contraction.in)
    any = any || builder.is_wanted(access.tensor);
  if (!any)
    return;
  switch (contraction.agg) {
  case Agg::Sum:
  case Agg::Assign:
    return differentiate_sum(builder, out, contraction, gradient);
  case Agg::Max:
  case Agg::Min:
    return differentiate_extremum(builder, out, contraction, gradient);
  case Agg::Product:
    return differentiate_product(builder, out, contraction, gradient);
  }
}

} // namespace tilefuse::program
