// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

std::string off_chunks(std::int64_t apart, std::string_view what) {
  return fmt::format("a start or stride of {} elements of the {}; tensor copies need positive "
                     "multiples of {} bytes",
                     apart, what, kMapAlign);
}

} // namespace

void TileMap::add(std::int64_t points, std::int64_t stride, nest::Linear at, std::int64_t of_box) {
  dims.push_back(points);
  strides.push_back(stride);
  place.push_back(std::move(at));
  if (of_box > 0)
    box.push_back(of_box);
}

bool moves(const nest::Dim &dim, const std::vector<IndexId> &indices, const Nest &nest) {
  return std::any_of(indices.begin(), indices.end(),
                     [&](IndexId i) { return dim.at.coeff[at(i)] != 0 && extent(nest, i) > 1; });
}

nest::Operand part_runs(const Nest &nest, nest::Operand operand, IndexId along,
                        const std::vector<IndexId> &pixels, const std::vector<IndexId> &taps) {
  const auto count = operand.dims.size();
  for (std::size_t d = 0; d < count; ++d) {
    nest::Dim run = operand.dims[d];
    if (run.at.coeff[at(along)] == 0 || run.guarded || moves(run, taps, nest))
      continue;
    for (const IndexId pixel : pixels) {
      const std::int64_t apart = std::exchange(operand.dims[d].at.coeff[at(pixel)], 0);
      if (apart == 0)
        continue;
      run.at = nest::along(nest, pixel);
      run.size = extent(nest, pixel);
      run.stride = apart * operand.dims[d].stride;
      operand.dims.push_back(run);
    }
    operand.offset += std::exchange(operand.dims[d].at.constant, 0) * operand.dims[d].stride;
  }
  return operand;
}

std::string misaligned(std::int64_t apart, std::int64_t size, std::string_view what) {
  return apart >= 0 && apart * size % kMapAlign == 0 ? std::string() : off_chunks(apart, what);
}

std::string unfit(const TileMap &map, std::int64_t size, std::string_view what) {
  if (!map.wrong.empty())
    return map.wrong;
  if (std::optional<std::string> reason = wrong_shape(map))
    return *std::move(reason);
  const std::optional<std::int64_t> apart = misaligned(map, size);
  return apart ? off_chunks(*apart, what) : std::string();
}

std::string no_walk(const Nest &nest, IndexId index, std::string_view what) {
  return fmt::format(
      "tensor copies of the {} do not walk {}: it needs a coordinate of its own, with "
      "an even stride and no part of a checked one",
      what, nest.indices[index].name);
}

std::string overrun(std::int64_t points, std::int64_t step) {
  return outside({"depth.points", points, 0, kNoEnd, step}).value_or("");
}

} // namespace tilefuse::schedule
