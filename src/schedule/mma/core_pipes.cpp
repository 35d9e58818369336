// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core_pipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using Reason = std::optional<std::string>;

constexpr std::int64_t kMostStages = 8;        // of mma
constexpr std::int64_t kMostTensorStages = 16; // of wgmma
constexpr std::int64_t kLeastLoaded = 3;       // one is filled, one waits behind it, one is read
constexpr std::int64_t kMostWindows = 8;
constexpr std::int64_t kMostResident = 48; // steps, which have mbarriers each
constexpr std::int64_t kMostRuns = 16;     // whose places a work-item keeps
constexpr int kMostInstances = 2;          // one multiplies, the other stores

const Pipe &pipe_of(const Gemm &gemm, int input) { return gemm.schedule.pipes[at(input)]; }

// Warps of wgmma write windows by spreading pixels (wgmma_spread.h).
bool spreads(const Gemm &gemm) {
  return has_loading_warps(gemm.schedule) && halo_stages(gemm.schedule) > 0 &&
         has_resident(gemm.schedule) && !gemm.schedule.producers.empty();
}

// Which engine copies which footprint of data that lies so, for mma and for wgmma.
bool reads_by_mma(const Gemm &gemm) {
  const auto is_read = [&](int input) {
    const Pipe &pipe = pipe_of(gemm, input);
    const bool gathers = pipe.engine == Engine::Items && core_gathers(gemm, input);
    return (gathers || pipe.engine == Engine::CpAsync) && pipe.footprint == Footprint::Step;
  };
  return is_read(gemm.roles.data) && is_read(gemm.roles.filter);
}

bool reads_by_wgmma(const Gemm &gemm) {
  const Pipe &data = pipe_of(gemm, gemm.roles.data), &filter = pipe_of(gemm, gemm.roles.filter);
  const CoreRoles &roles = gemm.roles;
  const bool loads = data.engine == Engine::CpAsync;
  const bool is_halo = data.footprint == Footprint::Halo;
  const bool in_blocks = roles.channels.size() > 1 || roles.has_blocks();
  if (filter.engine != Engine::Tma || data.engine == Engine::Items || roles.data_apart ||
      data.footprint == Footprint::Resident || data.footprint == Footprint::StepHalo ||
      filter.footprint == Footprint::Halo)
    return false;
  if (gemm.core().swap_ab && in_blocks && !loads && !is_halo)
    return false;
  if ((a_in_registers(gemm) || turns_in_ring(gemm)) &&
      (loads || data.footprint != Footprint::Step || filter.footprint != Footprint::Step ||
       has_box(gemm)))
    return false;
  if (roles.data_turned)
    return roles.filter_turned && !is_halo && !loads && !has_box(gemm) &&
           filter.footprint != Footprint::Resident;
  if (filter.footprint == Footprint::StepHalo)
    return false;
  if (is_halo)
    return has_box(gemm) && (!loads || spreads(gemm));
  return filter.footprint == Footprint::Step && !(loads && has_box(gemm));
}

std::string_view lie(const Gemm &gemm) {
  if (gemm.roles.data_apart)
    return "gathered";
  if (gemm.roles.data_turned)
    return "turned";
  return gemm.roles.has_blocks() ? "blocked" : "straight";
}

// Numbers of stages, and of copies begun ahead of a wait, by what is to be filled and read at once.
Range of_steps(const Gemm &gemm) {
  Range range{"step.stages", step_stages(gemm.schedule), 2, kMostStages};
  if (!gemm.is_wgmma())
    return range;
  range.most = kMostTensorStages;
  const std::int64_t all = core_steps(gemm);
  if (has_resident(gemm.schedule))
    return all > kMostResident ? Range{"resident.steps", all, 1, kMostResident}
                               : Range{"resident.stages", range.value, all, all};
  range.least = has_loading_warps(gemm.schedule) ? kLeastLoaded : range.least;
  return range;
}

// Windows, whose reader lets go of one in the first tap of the next.
Range of_windows(const Gemm &gemm) {
  return {"halo.stages", halo_stages(gemm.schedule), windows_of_tile(gemm) > 1 ? 2 : 1,
          kMostWindows};
}

// What a group waits for in a buffer must not be two phases ahead, nor one of the other's. Warps
// that map have been through all buffers before, where it is one group that does.
Reason wrong_turns(const Gemm &gemm) {
  const std::int64_t groups = gemm.schedule.roles.math.instances;
  const std::int64_t windows = halo_stages(gemm.schedule);
  if (!has_resident(gemm.schedule) || groups == 1)
    return {};
  const std::int64_t of_tile = windows_of_tile(gemm);
  const bool is_in_order = !gemm.schedule.producers.empty() &&
                           gemm.schedule.roles.transform.groups < 2 &&
                           !has_loading_warps(gemm.schedule);
  if (is_in_order ? windows > of_tile : windows % (groups * of_tile) == 0)
    return {};
  return fmt::format("{} windows for {} groups that multiply at once, {} a tile", windows, groups,
                     of_tile);
}

// Elements that a work-item copies at once, and who copies an input.
Reason wrong_async_input(const Gemm &gemm, int input, std::int64_t items) {
  const bool by_items = pipe_of(gemm, input).engine == Engine::Items;
  const std::int64_t each = by_items ? gemm.tile.chunk() : core_copy_elems(gemm, input);
  if (each == 0)
    return fmt::format("input {} has no aligned runs of 4 bytes along {}", input,
                       gemm.nest.indices[at(gemm.roles.contiguous(input))].name);
  const CoreSideTile side = core_side_tile(gemm.roles, gemm.tile, input);
  if (Reason reason = wrong_sharing(items, side.rows, side.elems / each))
    return reason;
  if (!gemm.is_wgmma())
    return {};
  return outside({"cp_async.copies", side.rows * side.elems / each / items, 1, kMostRuns});
}

Reason wrong_fill(const Gemm &gemm, int input) {
  const Fill fill = gemm.schedule.fills[at(input)];
  const bool is_filter = input == gemm.roles.filter;
  const bool in_blocks = gemm.roles.has_blocks();
  const bool is_of_wgmma = gemm.is_wgmma();
  const bool can_pack = is_filter && !gemm.roles.filter_turned && (is_of_wgmma || !in_blocks);
  const bool must_pack =
      can_pack && ((in_blocks && !has_loading_warps(gemm.schedule)) ||
                   !is_contiguous(gemm.nest.inputs[at(input)], gemm.roles.contiguous(input)));
  if (fill == Fill::Direct ? !must_pack : fill == Fill::Packed && can_pack)
    return {};
  const bool is_direct = fill == Fill::Direct;
  return fmt::format("input {} is {}; its pipe needs it {}", input,
                     is_direct ? "direct" : (fill == Fill::Packed ? "packed" : "staged"),
                     must_pack ? "packed" : "direct");
}

} // namespace

bool core_cuts_runs(const Gemm &gemm, int input) {
  const std::int64_t each = core_copy_elems(gemm, input);
  return each > 0 && !is_packed(gemm.schedule.fills[at(input)]) &&
         extent(gemm.nest, gemm.roles.contiguous(input)) % each != 0;
}

std::optional<std::string> wrong_sharing(std::int64_t items, std::int64_t rows,
                                         std::int64_t per_row) {
  return outside({{"work_items", items, per_row, kNoEnd, std::max<std::int64_t>(1, per_row)},
                  {"tile.copies", rows * per_row, items, kNoEnd, items}});
}

std::optional<std::string> wrong_fills(const Gemm &gemm) {
  for (std::size_t k = 0; k < gemm.schedule.fills.size(); ++k)
    if (Reason reason = wrong_fill(gemm, static_cast<int>(k)))
      return reason;
  return {};
}

std::optional<std::string> wrong_pipes(const Gemm &gemm) {
  const CoreOp &op = *gemm.core().op;
  if (is_wgmma(op) ? reads_by_wgmma(gemm) : reads_by_mma(gemm))
    return {};
  const Pipe &data = pipe_of(gemm, gemm.roles.data), &filter = pipe_of(gemm, gemm.roles.filter);
  return fmt::format("{}{} reads no {} {} of {} data in {}, beside {} {} of the filter", op.name,
                     gemm.core().swap_ab ? " swap_ab" : "", kFootprints[data.footprint],
                     kEngines[data.engine], lie(gemm),
                     is_wgmma(op) && has_box(gemm) ? "boxes" : "rows",
                     kFootprints[filter.footprint], kEngines[filter.engine]);
}

std::optional<std::string> wrong_stages(const Gemm &gemm) {
  const int instances = gemm.schedule.roles.math.instances;
  const Pipe &data = pipe_of(gemm, gemm.roles.data), &filter = pipe_of(gemm, gemm.roles.filter);
  const Range of_data = data.footprint == Footprint::Halo
                            ? of_windows(gemm)
                            : Range{"data.stages", data.stages, filter.stages, filter.stages};
  if (Reason reason = outside({{"math.instances", instances, 1, kMostInstances},
                               of_steps(gemm),
                               of_data,
                               {"extra.stages", gemm.schedule.extra.stages, 0,
                                gemm.is_wgmma() ? most_ahead(gemm) : 0}}))
    return reason;
  return wrong_turns(gemm);
}

std::optional<std::string> wrong_async_copies(const Gemm &gemm) {
  if (gemm.is_wgmma())
    return has_loading_warps(gemm.schedule) && !spreads(gemm)
               ? wrong_async_input(gemm, gemm.roles.data, kGroupItems)
               : Reason{};
  for (const int input : {gemm.roles.data, gemm.roles.filter})
    if (Reason reason = wrong_async_input(gemm, input, group_size(gemm.schedule)))
      return reason;
  return {};
}

} // namespace tilefuse::schedule
