// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_pixels.h"

#include <algorithm>

#include "base/index.h"
#include "schedule/mma/core_roles.h"

namespace tilefuse::lower {

using kernel::ExprRef;

namespace {

bool lies_as_one(const nest::Nest &nest, const nest::Operand &operand,
                 const std::vector<IndexId> &pixels) {
  const nest::Linear flat = nest::flat(operand, nest.indices.size());
  for (std::size_t k = 0; k + 1 < pixels.size(); ++k)
    if (flat.coeff[at(pixels[k])] !=
        nest.indices[at(pixels[k + 1])].extent * flat.coeff[at(pixels[k + 1])])
      return false;
  return true;
}

} // namespace

bool pixels_lie_as_one(const Context &cx, const schedule::CoreRoles &roles) {
  return lies_as_one(cx.nest, cx.nest.out, roles.pixels) &&
         std::all_of(cx.nest.extras.begin(), cx.nest.extras.end(), [&](const nest::Operand &extra) {
           return lies_as_one(cx.nest, extra, roles.pixels);
         });
}

void place_pixel(Context &cx, const schedule::CoreRoles &roles, ExprRef pixel, bool as_one,
                 const NameValue &named) {
  kernel::Builder &b = cx.build;
  ExprRef rest = pixel;
  for (auto i = roles.pixels.rbegin(); i != roles.pixels.rend(); ++i) {
    const bool is_last = i + 1 == roles.pixels.rend();
    const ExprRef extent = b.integer(cx.nest.indices[at(*i)].extent);
    ExprRef &origin = cx.origin[at(*i)];
    if (as_one)
      origin = rest == pixel ? pixel : b.integer(0);
    else
      origin = named("p_" + cx.nest.indices[at(*i)].name, is_last ? rest : b.mod(rest, extent));
    rest = as_one ? b.integer(0) : b.div(rest, extent);
  }
}

void place_channel(Context &cx, const schedule::CoreRoles &roles, ExprRef channel,
                   const NameValue &named) {
  kernel::Builder &b = cx.build;
  ExprRef rest = channel;
  for (auto i = roles.channels.rbegin(); i != roles.channels.rend(); ++i) {
    const bool is_last = i + 1 == roles.channels.rend();
    const ExprRef extent = b.integer(cx.nest.indices[at(*i)].extent);
    cx.origin[at(*i)] =
        is_last ? rest : named("c_" + cx.nest.indices[at(*i)].name, b.mod(rest, extent));
    rest = is_last ? rest : b.div(rest, extent);
  }
}

} // namespace tilefuse::lower
