// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/divide.h"
#include "base/index.h"
#include "base/range.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::schedule {
namespace {

// Elements that a work-item reads of a window, all of which are under way at once: beside two
// groups that multiply, and three (NVRTC 13.0, sm_90a).
constexpr std::int64_t kMostReads = 48;
constexpr std::int64_t kMostReadsOfFour = 24;

// Every other dimension is one of the copy's, which a box of the window has.
bool has_lines(const nest::Operand &data, const nest::Nest &copy, const TileMap &map,
               const SpreadPlan &plan) {
  const std::vector<int> dims = poly::match_runs(data, copy).value();
  for (int d = 0; d < static_cast<int>(data.dims.size()); ++d)
    if (d != plan.dim && data.dims[at(d)].size > 1 &&
        (std::count(dims.begin(), dims.end(), d) != 1 ||
         std::count(map.strides.begin() + 2, map.strides.end(), data.dims[at(d)].stride) != 1))
      return false;
  return true;
}

} // namespace

std::optional<poly::MemberId> spread_of(const poly::Group &group) {
  for (const poly::MemberId m : producing_members(group))
    if (producer_at(group, m).feed == poly::Feed::Spread)
      return m;
  return {};
}

std::int64_t SpreadPlan::rounds() const { return ceil_div(units(), kGroupItems); }

SpreadPlan spread_plan(const poly::Group &group, const Gemm &gemm, poly::MemberId producer) {
  const nest::Nest &copy = producer_at(group, producer).nest;
  const nest::Operand &data = gemm.nest.inputs[at(gemm.roles.data)];
  SpreadPlan plan{.dim = static_cast<int>(dim_of(data, gemm.roles.depth()) - data.dims.data())};
  const std::vector<int> dims = poly::match_runs(data, copy).value();
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d] == plan.dim)
      plan.pixel = std::max(plan.pixel, copy.out.dims[d].stride);
  plan.unit = std::lcm(plan.pixel, gemm.tile.chunk());
  const IndexId fastest = pixel_box(gemm).indices.back();
  plan.step = data.dims[at(plan.dim)].at.coeff[at(fastest)] / plan.unit;
  plan.per_row = gemm.tile.depth / plan.unit;
  plan.per_line = (kWindowPixels - 1) * plan.step + plan.per_row;
  plan.lines = window_rows(gemm) / kWindowPixels;
  return plan;
}

std::optional<std::string> wrong_spread(const poly::Group &group, const Gemm &gemm,
                                        poly::MemberId producer) {
  const nest::Operand &data = gemm.nest.inputs[at(gemm.roles.data)];
  const SpreadPlan plan = spread_plan(group, gemm, producer);
  const nest::Linear &run = data.dims[at(plan.dim)].at;
  const IndexId fastest = pixel_box(gemm).indices.back();
  const auto moved =
      std::count_if(run.coeff.begin(), run.coeff.end(), [](auto c) { return c != 0; });
  const bool are_units = plan.step >= 1 && run.coeff[at(fastest)] % plan.unit == 0 &&
                         run.constant == 0 && moved == 2 && gemm.tile.depth % plan.unit == 0 &&
                         gemm.roles.depth_points <= gemm.tile.depth;
  if (!are_units || !has_lines(data, producer_at(group, producer).nest, data_map(gemm), plan))
    return fmt::format("runs of {} by steps of {} are not one of whole units of {}, in lines that "
                       "are dimensions of a window",
                       gemm.roles.depth_points, gemm.tile.depth, plan.unit);
  const bool are_four = storing_warps(gemm.schedule) * kCoreLanes > 2 * kGroupItems;
  return outside(
      {"spread.reads", plan.rounds() * plan.unit, 1, are_four ? kMostReadsOfFour : kMostReads});
}

} // namespace tilefuse::schedule
