// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_pixels.h"

#include <algorithm>

#include "lower/expressions.h"
#include "nest/index.h"

namespace tilefuse::lower {

namespace {

bool lies_as_one(const nest::Nest &nest, const nest::Operand &operand,
                 const std::vector<IndexId> &pixels) {
  const nest::Linear flat = nest::flat(operand, nest.indices.size());
  for (std::size_t k = 0; k + 1 < pixels.size(); ++k)
    if (flat.coeff[pixels[k]] != extent(nest, pixels[k + 1]) * flat.coeff[pixels[k + 1]])
      return false;
  return true;
}

} // namespace

bool pixels_lie_as_one(const Context &cx) {
  const std::vector<IndexId> &pixels = cx.gemm().roles.pixels;
  return lies_as_one(cx.nest, cx.nest.out, pixels) &&
         std::all_of(cx.nest.extras.begin(), cx.nest.extras.end(), [&](const nest::Operand &extra) {
           return lies_as_one(cx.nest, extra, pixels);
         });
}

void place_pixel(Context &cx, ExprRef pixel, bool as_one, Stmts &list) {
  const std::vector<IndexId> &pixels = cx.gemm().roles.pixels;
  if (!as_one) {
    place_digits(cx, pixels, pixel, "p_", cx.origin, list);
    return;
  }
  for (const IndexId i : pixels)
    cx.origin[i] = i == pixels.back() ? pixel : cx.build.integer(0);
}

void place_channel(Context &cx, ExprRef channel, Stmts &list) {
  const std::vector<IndexId> &channels = cx.gemm().roles.channels;
  const std::vector<ExprRef> digits = digits_of(cx.build, channel, extents(cx.nest, channels));
  for (std::size_t k = channels.size(); k-- > 0;)
    cx.origin[channels[k]] =
        k == 0 ? digits[k]
               : named(cx.build, list, "c_" + cx.nest.indices[channels[k]].name, digits[k]);
}

} // namespace tilefuse::lower
