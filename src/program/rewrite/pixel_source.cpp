// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/pixel_source.h"

#include "base/index.h"

namespace tilefuse::program {
namespace {

// Where the statement places every element of one tensor in a larger one.
std::optional<PixelSource> placed(const Contraction &body) {
  if (body.agg != Agg::Assign || body.comb != Comb::None || body.init || !body.constraints.empty())
    return std::nullopt;
  PixelSource source{.from = body.in[0].tensor};
  for (std::size_t d = 0; d < body.out.size(); ++d) {
    Affine out = body.out[d];
    out.constant = 0;
    if (body.in[0].subscripts.size() != body.out.size() || !is_index(out, d) ||
        !is_index(body.in[0].subscripts[d], d))
      return std::nullopt;
    source.before.push_back(body.out[d].constant.num());
  }
  return source;
}

} // namespace

void PixelSources::note(const Program &program, const Statement &statement) {
  const Shape &shape = program[statement.out].shape;
  if (const auto *map = std::get_if<Map>(&statement.body);
      map != nullptr && map->operands.size() == 1 && program[map->operands[0]].shape == shape)
    made_[statement.out] = {
        .from = map->operands[0], .before = {}, .made = map->expr, .origin = statement.origin};
  if (const auto *body = std::get_if<Contraction>(&statement.body))
    if (std::optional<PixelSource> source = placed(*body))
      placed_[statement.out] = *std::move(source);
}

PixelSource PixelSources::of(TensorId data) const {
  const auto made = made_.find(data);
  if (made == made_.end())
    return {.from = data, .before = {}, .made = {}, .origin = {}};
  PixelSource source = made->second;
  if (const auto below = placed_.find(source.from); below != placed_.end()) {
    source.from = below->second.from;
    source.before = below->second.before;
  }
  return source;
}

} // namespace tilefuse::program
