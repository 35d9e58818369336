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

std::string steps(const nest::Nest &nest, const schedule::Schedule &schedule) {
  if (schedule::has_core(schedule)) {
    const schedule::Gemm gemm = gemm_of(nest, schedule);
    const schedule::CoreTile &tile = gemm.tile;
    const bool is_boxed = is_wgmma(*schedule.core.op) && has_box(gemm);
    const schedule::Core &core = schedule.core;
    return fmt::format("{}x{}x{}_{}{}{}{}{}{}{}{}{}{}{}", tile.rows, tile.columns, tile.depth,
                       core.ring, core.turns > 1 ? "_turns" : "", is_boxed ? "_box" : "",
                       core.swapped ? "_swapped" : "", core.tensor_store ? "_store" : "",
                       core.ahead == 0 ? "" : fmt::format("_ahead{}", core.ahead),
                       core.gathers ? "_gather" : "",
                       core.window == 0 ? "" : fmt::format("_window{}", core.window),
                       core.keeps_filter ? "_kept" : "",
                       core.cluster_rows * core.cluster_columns == 1
                           ? ""
                           : fmt::format("_c{}x{}", core.cluster_rows, core.cluster_columns),
                       core.cluster_parts == 1 ? "" : fmt::format("_p{}", core.cluster_parts));
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
  return producers + kernel_name(group.anchor, schedule, target);
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
