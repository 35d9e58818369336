// SPDX-License-Identifier: Apache-2.0
// What an element of a staging tile is: the tensor's own, or a pointwise producer's.
#include "lower/post.h"
#include "lower/stage_fill.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;

ExprRef exists(const Context &cx, ExprRef valid) {
  return valid ? cx.build.scalar(ScalarOp::Gt, {valid, cx.build.integer(0)}) : nullptr;
}

ExprRef copied(const StageSource &s, ExprRef index, int lanes, ExprRef valid) {
  const kernel::BufferId from = s.streams[0].from;
  const ExprRef raw = s.cx.build.load(from, index, lanes, 1, valid, s.fill);
  return filled(s.cx, from, s.cx.build.cast(raw, s.type), exists(s.cx, valid));
}

// Rounded to the type that the tensor would have in memory; the padding is not mapped (L10).
ExprRef mapped(const StageSource &s, const std::vector<ExprRef> &addresses, int lanes,
               ExprRef valid) {
  kernel::Builder &b = s.cx.build;
  const nest::Nest &nest = s.map->nest;
  const auto load = [&](int operand) {
    const auto k = static_cast<std::size_t>(operand);
    const bool spread = lanes > 1 && s.streams[k].strides.back() != 0;
    const ExprRef raw = b.load(s.streams[k].from, addresses[k], spread ? lanes : 1, 1, valid);
    const DType type = b.kernel()[s.streams[k].from].type.elem;
    const ExprRef value = b.cast(raw, compute_type(type));
    return spread ? value : b.broadcast(value, lanes);
  };
  const ExprRef made = expr_value(b, nest.post, lanes, nullptr, load);
  const DType stored = nest.slots[static_cast<std::size_t>(nest.out.slot)].type;
  const ExprRef held = b.cast(b.cast(made, stored), s.type);
  return valid ? b.select(exists(s.cx, valid), held, b.real(s.fill, held->type)) : held;
}

} // namespace

ExprRef StageSource::value(const std::vector<ExprRef> &addresses, int lanes, ExprRef valid) const {
  return map ? mapped(*this, addresses, lanes, valid)
             : copied(*this, addresses.at(0), lanes, valid);
}

} // namespace tilefuse::lower
