// SPDX-License-Identifier: Apache-2.0
#include "lower/kernel_name.h"

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core.h"
#include "schedule/wgmma/pixel_box.h"

namespace tilefuse::lower {
namespace {

std::string extents(const nest::Nest &nest, Ids<nest::IndexId> indices) {
  std::string text;
  for (const nest::IndexId i : indices) {
    const nest::Index &index = nest.indices[i];
    text += fmt::format("{}{}", index.name, index.extent);
  }
  return text;
}

std::string ahead(const schedule::Pipe &extra) {
  if (extra.stages == 0)
    return "";
  return fmt::format("_ahead{}", extra.stages) +
         (extra.epi_n == 0 ? "" : fmt::format("n{}", extra.epi_n));
}

std::string steps(const nest::Nest &nest, const schedule::Schedule &schedule) {
  if (schedule::has_core(schedule)) {
    const schedule::Gemm gemm = gemm_of(nest, schedule);
    const schedule::CoreTile &tile = gemm.tile;
    const bool is_boxed = is_wgmma(*schedule.core.op) && has_box(gemm);
    return fmt::format(
        "{}x{}x{}_{}{}{}{}{}{}{}{}{}{}{}", tile.rows, tile.columns, tile.depth,
        step_stages(schedule), schedule.roles.math.instances > 1 ? "_turns" : "",
        is_boxed ? "_box" : "", schedule.core.swap_ab ? "_swapped" : "",
        schedule.store == schedule::Store::Tma ? "_store" : "", ahead(schedule.extra),
        has_loading_warps(schedule) ? "_gather" : "",
        halo_stages(schedule) == 0 ? "" : fmt::format("_window{}", halo_stages(schedule)),
        has_resident(schedule) ? "_kept" : "",
        schedule.tiles.cluster_m * schedule.tiles.cluster_n == 1
            ? ""
            : fmt::format("_c{}x{}", schedule.tiles.cluster_m, schedule.tiles.cluster_n),
        schedule.tiles.split_k == 1 ? "" : fmt::format("_p{}", schedule.tiles.split_k));
  }
  std::string text;
  for (const nest::IndexId i : output_indices(nest)) {
    const schedule::Split &split = schedule.splits[i];
    if (split.step() > 1)
      text += fmt::format("{}{}", nest.indices[i].name, split.step());
  }
  return text.empty() ? "1" : text;
}

} // namespace

std::string kernel_name(const poly::Group &group, const schedule::Schedule &schedule,
                        const Target &target) {
  std::string producers;
  for (auto p = group.producers.rbegin(); p != group.producers.rend(); ++p)
    producers += p->nest.name + "_";
  std::string sums;
  for (const poly::TileSum &sum : group.sums)
    sums += "__with_" + sum.nest.name;
  return producers + kernel_name(group.anchor, schedule, target) + sums;
}

std::string kernel_name(const nest::Nest &nest, const schedule::Schedule &schedule,
                        const Target &target) {
  std::string name = fmt::format("{}_{}", nest.name, to_string(type_of(nest, nest.out)));
  for (const std::string &part :
       {extents(nest, output_indices(nest)), extents(nest, reduced_indices(nest))})
    if (!part.empty())
      name += "_" + part;
  return fmt::format("{}__{}_{}__{}", name, schedule.name, steps(nest, schedule), target.name);
}

} // namespace tilefuse::lower
