// SPDX-License-Identifier: Apache-2.0
#include "report/core_mapping.h"

#include <algorithm>

#include <fmt/format.h>

#include "nest/index.h"
#include "poly/row_group.h"
#include "report/page/core_tiling.h"
#include "schedule/blocks.h"
#include "schedule/local_memory.h"
#include "schedule/mma/core.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::report {
namespace {

using nest::Nest;
using schedule::Engine;
using schedule::Footprint;
using schedule::LocalBuffer;
using schedule::LocalUse;
using schedule::Pipe;
using schedule::Schedule;

const char *copied_by(Engine engine) {
  switch (engine) {
  case Engine::Items:
    return "loads and stores of work-items";
  case Engine::CpAsync:
    return "asynchronous copies";
  case Engine::Tma:
    return "tensor copies";
  }
  return "";
}

std::int64_t bytes_of(const std::vector<LocalBuffer> &buffers, LocalUse use) {
  std::int64_t bytes = 0;
  for (const LocalBuffer &buffer : buffers)
    bytes += buffer.use == use ? buffer.bytes() : 0;
  return bytes;
}

std::string counted(std::int64_t count, const char *what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// What a buffer holds: "192 rows of 64 elements a step, contiguous along c".
std::string footprint_text(const schedule::Gemm &gemm, const Pipe &pipe, int input) {
  if (pipe.footprint == Footprint::Resident)
    return "all of it that a block's columns need, once";
  if (pipe.footprint == Footprint::Halo)
    return "windows that serve all taps";
  if (pipe.footprint == Footprint::StepHalo)
    return fmt::format("{} of {} elements a step for {} taps each, contiguous along {}",
                       counted(gemm.halo_rows(), "row"), gemm.halo_columns(), gemm.halo.taps,
                       gemm.nest.indices[gemm.roles.contiguous(input)].name);
  const schedule::CoreSideTile side = schedule::core_side_tile(gemm.roles, gemm.tile, input);
  return fmt::format("{} of {} elements a step, contiguous along {}", counted(side.rows, "row"),
                     side.elems, gemm.nest.indices[gemm.roles.contiguous(input)].name);
}

std::string input_text(const schedule::Gemm &gemm, const std::vector<LocalBuffer> &buffers,
                       int input) {
  const Pipe &pipe = gemm.schedule.pipes[static_cast<std::size_t>(input)];
  const bool is_data = input == gemm.roles.data;
  const std::int64_t bytes = bytes_of(buffers, is_data ? LocalUse::Data : LocalUse::Filter);
  return fmt::format("{}: {}\n  {} into {}, {} bytes\n", is_data ? "data" : "filter",
                     footprint_text(gemm, pipe, input),
                     schedule::core_gathers(gemm, input) ? "gathered by work-items"
                                                         : copied_by(pipe.engine),
                     counted(std::max(1, pipe.stages), "buffer"), bytes);
}

const char *result_text(schedule::Store store) {
  switch (store) {
  case schedule::Store::Direct:
    return "result: stored from registers\n";
  case schedule::Store::Local:
    return "result: turned in local memory, stored in runs\n";
  case schedule::Store::Tma:
    return "result: stored by tensor copies from local memory, beside the next tile\n";
  }
  return "";
}

} // namespace

std::string core_layouts(const poly::Group &group, const Schedule &schedule) {
  const Nest &nest = group.anchor;
  const schedule::Gemm gemm = schedule::gemm_of(nest, schedule);
  const std::vector<LocalBuffer> buffers =
      schedule::local_buffers(group, schedule, poly::kAnchor, nest);
  std::string text;
  for (int k = 0; k < static_cast<int>(nest.inputs.size()); ++k) {
    text += fmt::format("input {}, ", k);
    if (poly::has_rows(group) && k == poly::row_input(group))
      text += fmt::format("data: rows of {} keys in registers{}, from the first product on\n",
                          poly::row_keys(group),
                          schedule.core.warp_columns == 1
                              ? std::string()
                              : fmt::format(" of {} warps", schedule.core.warp_columns));
    else
      text += input_text(gemm, buffers, k);
  }
  if (!nest.extras.empty())
    text += schedule.extra.stages == 0
                ? "what post-ops read: in place\n"
                : fmt::format("what post-ops read: {} into {}{}, {} bytes\n",
                              copied_by(schedule.extra.engine),
                              counted(schedule.extra.stages, "buffer"),
                              schedule.extra.epi_n == 0
                                  ? std::string()
                                  : fmt::format(" of {} columns", schedule.extra.epi_n),
                              bytes_of(buffers, LocalUse::Operand));
  return text + result_text(schedule.store);
}

std::string core_mapping(const Nest &nest, const Schedule &schedule) {
  const CoreTiling tiling = *core_tiling(nest, schedule);
  const schedule::Gemm gemm = schedule::gemm_of(nest, schedule);
  const auto by = [](const TileSize &size) {
    return fmt::format("{} by {}", size.rows, size.columns);
  };
  const std::int64_t blocks = schedule::blocks(nest, schedule);
  const std::int64_t tiles =
      tiling.is_warpgroup ? schedule::tile_grid(gemm).tiles() : blocks; // mma: a block for each
  std::string text =
      fmt::format("product: {} points of {} by {} of {}, {} of {} summed\n", tiling.whole.rows,
                  tiling.rows, tiling.whole.columns, tiling.columns,
                  counted(schedule::core_steps(gemm), "step"), tiling.depth);
  text += fmt::format("{} blocks of {} work-items{}\n", blocks, schedule::group_size(schedule),
                      blocks < tiles ? fmt::format(" share {} tiles", tiles) : "");
  text += fmt::format(
      "tile: {}{}\n", by(tiling.tile),
      tiling.instances > 1 ? fmt::format(", {} groups take tiles in turn", tiling.instances) : "");
  text +=
      fmt::format("{}: {} of a tile, each {}\n", tiling.is_warpgroup ? "warpgroups" : "warps",
                  tiling.tile.rows / tiling.warp.rows * (tiling.tile.columns / tiling.warp.columns),
                  by(tiling.warp));
  const std::int64_t lanes = gemm.core().op->lanes();
  return text + fmt::format("instruction: {}, {}\nregisters: {} accumulators\n", tiling.instruction,
                            by(tiling.atom), tiling.warp.rows * tiling.warp.columns / lanes);
}

} // namespace tilefuse::report
