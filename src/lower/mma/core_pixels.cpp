// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_pixels.h"

#include <algorithm>

#include "lower/expressions.h"
#include "nest/index.h"
#include "nest/points.h"

namespace tilefuse::lower {

bool pixels_lie_as_one(const Context &cx) {
  const std::vector<IndexId> &pixels = cx.gemm().roles.pixels;
  const auto lies = [&](const nest::Operand &operand) {
    return lie_as_one(cx.nest, nest::flat(operand, cx.nest.indices.size()), pixels);
  };
  return lies(cx.nest.out) && std::all_of(cx.nest.extras.begin(), cx.nest.extras.end(), lies);
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
