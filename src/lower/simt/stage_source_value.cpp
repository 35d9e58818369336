// SPDX-License-Identifier: Apache-2.0
// What an element of a staging tile is: the tensor's own, or a pointwise producer's.
#include "lower/post.h"
#include "lower/simt/stage_source.h"

namespace tilefuse::lower {
namespace {

ExprRef exists(const Context &cx, ExprRef valid) {
  return valid ? cx.build.scalar(ScalarOp::Gt, {valid, cx.build.integer(0)}) : nullptr;
}

// Of the tensor itself.
ExprRef copied(const StageSource &s, ExprRef index, int lanes, ExprRef valid) {
  const BufferId from = s.streams[0].from;
  const ExprRef raw = s.cx.build.load(from, index, lanes, 1, valid, s.fill);
  return filled(s.cx, from, s.cx.build.cast(raw, s.type), exists(s.cx, valid));
}

} // namespace

kernel::Type StageSource::read_type(std::size_t stream, int lanes) const {
  if (map == nullptr)
    return {type, lanes};
  return {compute_type(cx.build.kernel()[streams[stream].from].type.elem),
          spreads(stream, lanes) ? lanes : 1};
}

bool StageSource::spreads(std::size_t stream, int lanes) const {
  return lanes > 1 && streams[stream].strides.back() != 0;
}

ExprRef StageSource::read(std::size_t stream, ExprRef address, int lanes, ExprRef valid) const {
  if (map == nullptr)
    return copied(*this, address, lanes, valid);
  const kernel::Type as = read_type(stream, lanes);
  return cx.build.cast(cx.build.load(streams[stream].from, address, as.lanes, 1, valid), as.elem);
}

// Rounded to the type that the tensor would have in memory; the padding is not mapped (L10).
ExprRef StageSource::made(const std::vector<ExprRef> &values, int lanes, ExprRef valid) const {
  if (map == nullptr)
    return values.at(0);
  kernel::Builder &b = cx.build;
  const ExprRef held =
      b.cast(map_value(b, map->nest, lanes,
                       [&](int operand) {
                         const auto k = static_cast<std::size_t>(operand);
                         return spreads(k, lanes) ? values[k] : b.broadcast(values[k], lanes);
                       }),
             type);
  return valid ? b.select(exists(cx, valid), held, b.real(fill, held->type)) : held;
}

ExprRef StageSource::of_vectors(const std::vector<ExprRef> &values) const {
  const auto load = [&](int operand) { return values[static_cast<std::size_t>(operand)]; };
  const ExprRef value =
      map ? map_value(cx.build, map->nest, values[0]->type.lanes, load) : values[0];
  return cx.build.cast(value, type);
}

ExprRef StageSource::value(const std::vector<ExprRef> &addresses, int lanes, ExprRef valid) const {
  std::vector<ExprRef> values;
  for (std::size_t k = 0; k < read_streams(); ++k)
    values.push_back(read(k, addresses[k], lanes, valid));
  return made(values, lanes, valid);
}

} // namespace tilefuse::lower
