// SPDX-License-Identifier: Apache-2.0
// Time of schedules with mma: blocks that share a multiprocessor overlap their
// matrix units, the path from the second-level cache, local memory and the latency of copies. With
// rates fitted to 354 times of an H200, schedules from the best to the 12th by an older model,
// ResNet-50's layers at batch 1, 32 and 256: mean error 6 %, the choice 1 % above the fastest
// timed.
//
// Time of schedules with wgmma: a block to a multiprocessor, whose tensor cores, path from the
// second-level cache and depth of the ring bound a step; the end of a tile is not overlapped.
// With rates fitted to 882 kernels of ResNet-50's layers at batch 1, 32 and 256 on an H200: 8.7 %
// of root mean square error (11 % with tiles taken in turn), and the tile it picks takes 1.01 times
// the best one's time on the average. The constants below are cycles and shares of generated code.
#include "cost/gpu/gemm_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/index.h"
#include "cost/expression.h"
#include "cost/footprint.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/blocks.h"
#include "schedule/local_memory.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::cost {
namespace {

using schedule::kGroupItems;
using schedule::kGroupRows;
using schedule::kStepBytes;

// Registers besides accumulators, fragments and places of copies; of a copy's places.
constexpr double kMmaSpareRegisters = 40;
constexpr double kPlaceRegisters = 3;
// Cycles that a warp issues for a load of one element each, with what tests, converts and stores
// it.
constexpr double kLoadCycles = 2;

constexpr int kShallow = 3;            // buffers
constexpr double kResultCycles = 5.72; // of a four warps' 128 results at the end of a tile
constexpr double kLongerStore = 1.4;   // results that leave in boxes
constexpr double kLongerImage = 4;     // such of an image, some of whose pixels are left out
constexpr double kLongerNarrow = 3;    // results that leave in less than words
constexpr double kLongerExchange = 2;  // results that warps exchange
constexpr double kThreeReaders = 2.2;  // times that reads of three groups take
constexpr double kFullSums = 256;      // bytes of reads by sums of a work-item that registers hold
constexpr double kFetchedCycles = 3;   // of such that were fetched ahead
constexpr double kFittedAhead = 32768; // bytes of a tile whose latency the rate is of
constexpr double kNotOverlapped = 0.15;
// Cycles of a step with turned tiles beside what local memory moves (4 forms of filter gradients of
// ResNet-50 in tf32 on an H200: 1.05 of their time).
constexpr double kTurnedStep = 140;
constexpr double kLoadedShare =
    0.945; // of local memory's time where work-items load a: some of it passes meanwhile
// Where windows are mapped, each for all taps at once (24 kernels on an H200, 8 %).
constexpr double kWindowCycles = 800;  // of a window besides
constexpr double kCopyingCycles = 450; // more of one that is mapped by warps that copy too
constexpr double kWindowLocal = 0.3;   // of what else local memory moves
constexpr double kBesideMaps = 0.2;    // of the shorter of mapping and the rest, not overlapped
constexpr double kStreamCycles = 60;   // of a step beside whose window the filter streams
constexpr double kGatherCycles = 85;   // of a run of every work-item that gathers
constexpr double kGatherShared = 300;  // of a step that groups share, which warps gather
constexpr double kGatherTile = 700;    // until its pixels are placed
constexpr double kWordBytes = 4;
constexpr double kBarrierBytes = 16; // of a buffer: full and empty

// Neighbouring pixels that the work-items of a warp store at once.
constexpr double kPixels = 8;
// A bias, a residual and a bound.
constexpr double kPlainSlots = 6;

// Of a tensor that is read once for each result.
std::int64_t results_of(const nest::Nest &nest) { return points_of(nest, output_indices(nest)); }

double whole_operands(const nest::Nest &nest) {
  return static_cast<double>(
      std::count_if(nest.extras.begin(), nest.extras.end(), [&](const nest::Operand &extra) {
        return nest.slots[extra.slot].elems >= results_of(nest);
      }));
}

double post_slots(const nest::Nest &nest) {
  return std::max(0.0, expression_slots(nest.post, true) - kPlainSlots);
}

// What both models are made of.
struct GemmModel {
  const schedule::Gemm &gemm;
  const Target &target;
  const FedRing &fed;
  const Rates &rates = target.rates;
  const schedule::CoreTile &tile = gemm.tile;

  double memory_bytes() const { return touched_bytes(gemm.nest) + fed.memory_bytes; }

  Estimate start() const {
    Estimate estimate;
    estimate.blocks = core_blocks(gemm);
    estimate.launch = target.launch_us * 1e-6;
    return estimate;
  }
};

struct MmaModel : GemmModel {
  const double items = static_cast<double>(group_size(gemm.schedule));
  const double cycle = 2 * target.vector_f32 / (target.gflops_per_unit * 1e9);
  // Cycles of a step by what could bound it, of all resident blocks at once.
  struct Step {
    double matrix = 0;
    double l2 = 0;
    double local = 0;
    double latency = 0;
    double beside = 0; // what the warps issue besides
  };

  double registers() const {
    const double accumulators = static_cast<double>(tile.rows * tile.columns) / items;
    const double fragments =
        static_cast<double>(tile.warp_rows) / 4 + static_cast<double>(tile.warp_columns) / 4;
    const double copies =
        static_cast<double>((tile.rows + tile.columns) * tile.row_bytes()) / 16 / items;
    return accumulators + fragments + kPlaceRegisters * copies + kMmaSpareRegisters;
  }

  double resident() const {
    const double bytes = static_cast<double>(local_bytes(local_buffers(gemm))) + fed.local_bytes;
    const double by_registers =
        rates.unit_registers / (std::min(registers(), rates.item_registers) * items);
    const double by_local = static_cast<double>(target.local_bytes) / bytes;
    return std::max(1.0, std::floor(std::min({by_registers, by_local, rates.unit_items / items})));
  }

  // Of an input that work-items gather. What is apart comes by a warp's load an element. Of runs of
  // neighbours a load takes a word of each, of halves one more than there are, by a cycle for each
  // line that the warp's runs touch: parts of rows, which begin anywhere in a line.
  double gather_cycles(int input) const {
    const schedule::CoreSideTile side = core_side_tile(gemm.roles, tile, input);
    const double elems = static_cast<double>(side.rows * side.elems) / kCoreLanes;
    if (gemm.roles.data_apart && input == gemm.roles.data)
      return elems * kLoadCycles;
    const auto chunk = static_cast<double>(tile.chunk());
    const double loads = tile.elem_bytes == 2 ? chunk / 2 + 1 : chunk;
    const double line = rates.local_bytes_per_cycle;
    const double run = kCoreLanes * chunk * static_cast<double>(tile.elem_bytes); // of a warp
    const double row = std::min(run, static_cast<double>(side.elems * tile.elem_bytes));
    return elems / chunk * loads * (run / row) * (row / line + 1);
  }

  double gather_cycles() const {
    double cycles = 0;
    for (const int input : {gemm.roles.data, gemm.roles.filter})
      cycles += core_gathers(gemm, input) ? gather_cycles(input) : 0;
    return cycles;
  }

  Step step(double resident) const {
    const double ops = 2 * static_cast<double>(tile.rows * tile.columns * tile.depth);
    const double rate = rates.mma_half_ops_per_cycle * 2 / static_cast<double>(tile.elem_bytes);
    const double bytes =
        static_cast<double>((tile.rows + tile.columns) * tile.row_bytes()) + fed.copied_bytes;
    const double fetched =
        static_cast<double>((tile.warp_rows + tile.warp_columns) * tile.row_bytes()) * items /
        kCoreLanes;
    const double spill = std::max(0.0, registers() - rates.item_registers);
    return {resident * (ops / rate) * (1 + spill / 32),
            resident * bytes / rates.l2_bytes_per_cycle_async,
            resident * (fetched + bytes) / rates.local_bytes_per_cycle_mma,
            rates.async_copy_latency_cycles / (step_stages(gemm.schedule) - 1),
            resident * (gather_cycles() + fed.issued / rates.issue_per_cycle_beside_mma)};
  }

  double step_cycles(double resident) const {
    const Step parts = step(resident);
    return std::max({parts.matrix, parts.l2, parts.local, parts.latency}) + parts.beside +
           rates.mma_step_cycles;
  }

  // Of all resident blocks' results, with what post-ops read and issue. A block's own loads, arithmetic
  // and stores wait for each other; those of others overlap.
  double store_cycles(double resident) const {
    const nest::Slot &out = gemm.nest.slots[gemm.nest.out.slot];
    const auto results = static_cast<double>(tile.rows * tile.columns);
    const double bytes =
        results * (static_cast<double>(size_bytes(out.type)) + operand_bytes(gemm.nest));
    const double moved =
        std::max(bytes / rates.store_bytes_per_cycle, scattered_cycles(gemm, target));
    const double issued =
        results * post_slots(gemm.nest) / (rates.schedulers * rates.scheduler_lanes);
    return resident * std::max(moved, issued) + std::min(moved, issued);
  }

  // On a multiprocessor.
  double blocks_at_once() const {
    return std::min(resident(),
                    std::ceil(static_cast<double>(core_blocks(gemm)) / target.compute_units));
  }

  Demands demands() const {
    const Estimate all = run();
    const double at_once = blocks_at_once();
    const double waves =
        std::ceil(static_cast<double>(all.blocks) / (at_once * target.compute_units)) * cycle;
    const double steps = waves * static_cast<double>(core_steps(gemm));
    const Step parts = step(at_once);
    return {{"matrix units", steps * parts.matrix},
            {"second-level cache", steps * parts.l2},
            {"local memory", steps * parts.local},
            {"latency of copies", steps * parts.latency},
            {"instruction issue", steps * parts.beside},
            {"steps' barriers", steps * rates.mma_step_cycles},
            {"stores", waves * store_cycles(at_once)},
            {"memory", all.memory},
            {"launch", all.launch}};
  }

  Estimate run() const {
    Estimate estimate = start();
    const auto count = static_cast<double>(estimate.blocks);
    const double at_once = blocks_at_once();
    const double waves = std::ceil(count / (at_once * target.compute_units));
    const double steps = static_cast<double>(core_steps(gemm));
    const double wave =
        (steps * step_cycles(at_once) + store_cycles(at_once) + rates.mma_block_cycles) * cycle;
    estimate.compute = wave / at_once;
    estimate.waves = waves * at_once * target.compute_units / count;
    estimate.memory = memory_bytes() / (rates.mma_memory_share * target.gbytes_per_s * 1e9);
    estimate.seconds = std::max(waves * wave, estimate.memory) + estimate.launch;
    estimate.reasons = {{"registers", registers(), "per work-item"},
                        {"resident blocks", at_once, "per multiprocessor"},
                        {"steps", steps, "per block"},
                        {"all resident blocks", step_cycles(at_once), "cycles per step"},
                        {"stores", store_cycles(at_once), "cycles of all resident blocks"},
                        {"wave", wave * 1e6, "us"},
                        {"waves", waves, ""},
                        {"memory", estimate.memory * 1e6, "us"},
                        {"launch", target.launch_us, "us"}};
    return estimate;
  }
};

struct WgmmaModel : GemmModel {
  const schedule::TileOrder &order = gemm.schedule.tiles;
  const int stages = step_stages(gemm.schedule);
  const int windows = halo_stages(gemm.schedule);
  const int operand_stages = gemm.schedule.extra.stages;
  const schedule::AheadRing ahead = ahead_ring(gemm); // of what post-ops read
  const int mappers = gemm.schedule.roles.transform.groups;
  const int instances = gemm.schedule.roles.math.instances;
  const bool is_kept = has_resident(gemm.schedule); // the filter
  const bool gathers = has_loading_warps(gemm.schedule);

  // Of the depth, copied for a step.
  double data_rows() const {
    return windows > 0 ? static_cast<double>(window_rows(gemm)) / taps_of_window(gemm)
                       : static_cast<double>(tile.rows * tile.spread);
  }

  // A window of the depth serves several taps.
  double filter_rows() const {
    const double share =
        static_cast<double>(gemm.halo_rows()) / static_cast<double>(tile.depth * gemm.halo.taps);
    return is_kept ? 0 : static_cast<double>(tile.columns) * share;
  }

  // Of what post-ops read, whole tiles at once, behind which copies of the inputs wait; those of
  // epilogue tiles let them pass.
  bool ahead_whole() const { return operand_stages > 0 && ahead.pieces == 1; }

  // Of a copy, of which as many are under way as there are buffers; where they are few, one is read
  // meanwhile, and rows of epilogue tiles come between.
  double latency() const {
    if (windows == 0 && stages <= kShallow) {
      const double between =
          ahead_whole() ? 0 : ahead_cycles() / static_cast<double>(most_steps(gemm));
      return (rates.tensor_copy_latency_shallow_cycles + copy_cycles() + between) / (stages - 1);
    }
    const double copy =
        ahead_whole() ? rates.tensor_copy_latency_ahead_cycles : rates.tensor_copy_latency_cycles;
    const double of_windows = windows > 0 ? copy / (windows * taps_of_window(gemm)) : 0;
    return is_kept ? of_windows : std::max(of_windows, copy / stages);
  }

  double row_cycles(const schedule::TileMap &map) const {
    return map.lower.size() > 2 ? rates.im2col_row_cycles : rates.tensor_copy_row_cycles;
  }

  // Rows of both inputs in a step: a row of a tile in as many parts as rows of the ring hold of its
  // depth, or, where both inputs are turned, points of the depth, in each panel of the tile's rows.
  // Those that other blocks of a cluster copy take as long to come.
  double copy_cycles() const {
    const auto row_bytes = static_cast<double>(tile.row_bytes());
    if (gemm.roles.data_turned) {
      const auto of_panel = [&](std::int64_t columns) {
        return row_bytes / static_cast<double>(columns * tile.elem_bytes);
      };
      return of_panel(schedule::kPanelBytes / tile.elem_bytes) * data_rows() *
                 row_cycles(data_map(gemm)) +
             of_panel(gemm.panel) * filter_rows() * row_cycles(filter_map(gemm));
    }
    if (gemm.roles.filter_turned) // the rates were fitted so: products hide these copies
      return 0;
    const double parts = row_bytes / static_cast<double>(ring_row_bytes(gemm));
    const double data = gathers ? 0 : data_rows();
    return parts * data * row_cycles(data_map(gemm)) + filter_rows() * rates.tensor_copy_row_cycles;
  }

  // In a step from the second-level cache; others of the cluster fetch the rest.
  double fetched_bytes() const {
    const double rows = data_rows() / static_cast<double>(order.cluster_n) +
                        filter_rows() / static_cast<double>(order.cluster_m);
    return rows * static_cast<double>(tile.row_bytes()) + fed.copied_bytes;
  }

  // Rows of tiles that warps turn in the ring.
  double turned_rows() const {
    return (turns_in_ring(gemm, gemm.roles.data) ? data_rows() : 0) +
           (turns_in_ring(gemm, gemm.roles.filter) ? filter_rows() : 0);
  }

  // What tensor copies write in a step and instructions read.
  double local_cycles() const {
    const auto read = static_cast<double>((tile.warp_rows + tile.warp_columns) * tile.row_bytes());
    return (read * static_cast<double>(tile.warps()) + fetched_bytes()) /
           rates.local_bytes_per_cycle;
  }

  // Of a step whose words lie turned, which local memory bounds: copies write them, warps read and
  // write b's again, and a's rows are read once, b's for every 64 of these. Loads of a meet two and two
  // in a bank but where the points are dealt for them.
  double turn_cycles() const {
    const bool loads = a_in_registers(gemm);
    if (turned_rows() == 0 && !loads)
      return 0;
    const bool swaps = gemm.core().swap_ab;
    const auto above = static_cast<double>(swaps ? tile.columns : tile.rows);
    const auto along = static_cast<double>(swaps ? tile.rows : tile.columns);
    const double meet = loads && !deals_points(gemm) ? 2 : 1;
    const double read = meet * above * along / static_cast<double>(gemm.core().op->n) +
                        above / static_cast<double>(kGroupRows) * along;
    const double rows = read + data_rows() + filter_rows() + 2 * turned_rows();
    const double cycles =
        rows * static_cast<double>(tile.row_bytes()) / rates.local_bytes_per_cycle;
    return loads ? kLoadedShare * cycles : cycles + kTurnedStep;
  }

  // Each warp that maps or turns has a scheduler of its own, or shares one with another that does.
  double map_cycles() const {
    if (fed.issued == 0)
      return turn_cycles();
    if (windows > 0)
      return fed.issued / (rates.schedulers * rates.issue_per_scheduler_one_warp) +
             kWindowLocal * local_cycles() +
             (kWindowCycles + (mappers == 0 ? kCopyingCycles : 0)) / taps_of_window(gemm);
    const double rate =
        mappers > 1 ? rates.issue_per_scheduler_two_warps : rates.issue_per_scheduler_one_warp;
    return fed.issued / (rates.schedulers * rate) + rates.map_step_cycles + local_cycles();
  }

  // Of warps that gather the data of a step.
  double gather_cycles() const {
    if (!gathers)
      return 0;
    if (fed.spread_cycles > 0)
      return fed.spread_cycles;
    const int data = gemm.roles.data;
    const auto each = static_cast<double>(core_copy_elems(gemm, data));
    const double runs = data_rows() * static_cast<double>(tile.depth) / each;
    const double cycles = runs / kGroupItems * kGatherCycles;
    const double filter =
        filter_rows() * static_cast<double>(tile.row_bytes()) / rates.l2_bytes_per_cycle_tensor;
    return cycles + filter + (instances > 1 ? 0 : kGatherShared);
  }

  // An instruction of 64 rows takes its operations' time at the peak, or the time to read its
  // operands from local memory.
  double matrix_cycles() const {
    const auto columns = static_cast<double>(gemm.core().op->n);
    const double instructions = static_cast<double>(tile.rows * tile.columns) /
                                (kGroupRows * columns) * static_cast<double>(tile.row_bytes()) /
                                kStepBytes;
    const double bytes = columns * kStepBytes; // of the columns' operand
    const double multiply = kGroupRows * bytes / rates.matrix_half_ops_per_cycle;
    const double read = rates.wgmma_operand_cycles + bytes / rates.local_bytes_per_cycle;
    return instructions * std::max(multiply, read) * rates.wgmma_time_ratio;
  }

  double step_cycles() const {
    const double others =
        std::max({matrix_cycles(), fetched_bytes() / rates.l2_bytes_per_cycle_tensor, copy_cycles(),
                  latency(), gather_cycles()});
    const double beside = windows > 0 ? kBesideMaps * std::min(others, map_cycles()) : 0;
    return std::max(others, map_cycles()) + beside + (windows > 0 && !is_kept ? kStreamCycles : 0) +
           (instances > 1 ? rates.ring_step_turns_cycles : rates.ring_step_cycles) +
           (order.cluster() > 1 ? rates.cluster_step_cycles : 0);
  }

  // Of a tile of what is fetched ahead, beside the copies of its steps.
  double ahead_cycles() const {
    double cycles = 0;
    if (operand_stages == 0)
      return cycles;
    for (const schedule::AheadOperand &operand : ahead_operands(gemm)) {
      const auto panels = static_cast<double>(tile.columns / operand.columns);
      const auto bytes = static_cast<double>(tile.rows * tile.columns * operand.elem_bytes);
      cycles += std::max(static_cast<double>(tile.rows) * panels * rates.tensor_copy_row_cycles,
                         bytes / rates.l2_bytes_per_cycle_tensor);
    }
    return cycles;
  }

  // Until an epilogue tile of it has come: all multiprocessors share the way from memory.
  double ahead_latency() const {
    double bytes = 0;
    for (const schedule::AheadOperand &operand : ahead_operands(gemm))
      bytes += static_cast<double>(ahead.elems * operand.elem_bytes);
    const double share =
        target.gbytes_per_s * 1e9 / (target.compute_units * rates.wgmma_clock_hz); // a cycle
    return ahead_whole() ? rates.tensor_copy_latency_ahead_cycles + (bytes - kFittedAhead) / share
                         : rates.tensor_copy_latency_cycles + bytes / share;
  }

  // All steps of a tile.
  double steps_cycles() const {
    const auto steps = static_cast<double>(most_steps(gemm));
    const double copies =
        std::max(fetched_bytes() / rates.l2_bytes_per_cycle_tensor, copy_cycles());
    return std::max(steps * step_cycles(), steps * copies + ahead_cycles());
  }

  // Of operands that post-ops read by tiles, for a four warps' 128 results. Registers beside the
  // accumulators hold what of them is under way, less of it the longer elements are, and least where
  // three groups read at once. Blocks of one tile wait once, which is in what they take besides.
  double operand_cycles() const {
    if (order.persistent == 0)
      return 0;
    double fetched = 0, fetched_bytes = 0;
    for (const schedule::AheadOperand &operand :
         operand_stages > 0 ? ahead_operands(gemm) : std::vector<schedule::AheadOperand>{}) {
      fetched += 1;
      fetched_bytes += static_cast<double>(operand.elem_bytes);
    }
    const double sums = static_cast<double>(tile.warp_rows * tile.warp_columns) / kGroupItems;
    const double bytes = operand_bytes(gemm.nest) - fetched_bytes;
    const double read = std::max(whole_operands(gemm.nest) - fetched, bytes * sums / kFullSums);
    return fetched * kFetchedCycles +
           read * rates.operand_read_cycles * (tile.warps() > 2 ? kThreeReaders : 1);
  }

  // By a work-item at once.
  double stored_bytes() const {
    const std::int64_t run = gemm.run();
    return static_cast<double>(run * size_bytes(type_of(gemm.nest, gemm.nest.out)));
  }

  double result_cycles() const {
    const bool in_boxes = gemm.schedule.store == schedule::Store::Tma;
    const double longer = in_boxes ? (result_map(gemm).is_im2col() ? kLongerImage : kLongerStore)
                          : exchanges(gemm)             ? kLongerExchange
                          : stored_bytes() < kWordBytes ? kLongerNarrow
                                                        : 1;
    // Each scheduler issues the arithmetic of all groups of a tile, which end it together.
    const double arithmetic = post_slots(gemm.nest) * static_cast<double>(tile.warps());
    const double issued = static_cast<double>(tile.warp_rows * tile.warp_columns) / kGroupItems *
                          (kResultCycles * longer + operand_cycles() + arithmetic);
    return std::max(issued, scattered_cycles(gemm, target)) / static_cast<double>(order.split_k);
  }

  // Of what a tile stores, added up. It is not hidden behind the products of another group, whose
  // accumulators the registers serve first; groups that multiply at once add up at once.
  double sum_cycles() const { return fed.sum_cycles / (is_kept ? instances : 1); }

  // Of accumulators that blocks of a cluster join.
  double join_cycles() const {
    if (order.split_k == 1)
      return 0;
    const std::int64_t bytes =
        tile.rows * tile.columns * size_bytes(schedule::held_type(gemm.nest));
    return rates.cluster_join_cycles + static_cast<double>(bytes) / rates.cluster_bytes_per_cycle;
  }

  // From the last step of a tile until it is stored: epilogue tiles for which there was no buffer
  // before come meanwhile, as many at once as there are buffers.
  double end_cycles(double results) const {
    if (operand_stages == 0)
      return results;
    const auto pieces = static_cast<double>(ahead.pieces);
    const double late = std::max(0.0, pieces - operand_stages) / operand_stages;
    return std::max(results, late * (ahead_latency() + results / pieces));
  }

  // Of one multiprocessor with so many tiles. A group that takes turns stores its results while the
  // other multiplies.
  double busy_cycles(double tiles) const {
    const double gather = gathers ? kGatherTile : 0;
    const double steps = gather + steps_cycles();
    const double stores = result_cycles() + join_cycles();
    const double results = end_cycles(stores);
    const double filter = // copied once
        is_kept ? static_cast<double>(tile.ring_bytes(stages) * tile.columns) /
                      (static_cast<double>(tile.rows * tile.spread + tile.columns) *
                       rates.l2_bytes_per_cycle_tensor)
                : 0;
    const double of_tile =
        sum_cycles() + (instances > 1 ? std::max(steps, (steps + results) / 2) : steps + results);
    // A buffer of what is fetched ahead is copied to when what it held has been stored.
    const double fetched =
        operand_stages > 0
            ? (static_cast<double>(ahead.pieces) * ahead_latency() + ahead_cycles() + stores) /
                  operand_stages
            : 0;
    return filter + tiles * std::max(of_tile, fetched) + (instances > 1 ? results : 0);
  }

  // Tiles of the busiest multiprocessor.
  double turns() const {
    return std::ceil(static_cast<double>(tile_grid(gemm).clusters()) /
                     static_cast<double>(schedule::clusters_at_once(target, order.cluster())));
  }

  double memory_seconds() const {
    return memory_bytes() / (target.gbytes_per_s * 1e9) * rates.wgmma_memory_time_ratio;
  }

  // Of results in blocks of channels that leave in less than whole lines of neighbours.
  double store_seconds() const {
    constexpr std::int64_t kLine = 4; // blocks
    if (!gemm.roles.has_blocks() || gathers || windows > 0 || gemm.row.used == kLine)
      return 0;
    const nest::Slot &out = gemm.nest.slots[gemm.nest.out.slot];
    return static_cast<double>(out.elems * size_bytes(out.type)) / rates.narrow_store_bytes_per_s;
  }

  Demands demands() const {
    const double tiles = turns() / rates.wgmma_clock_hz;
    const double steps = tiles * static_cast<double>(most_steps(gemm));
    return {{"matrix units", steps * matrix_cycles()},
            {"second-level cache", steps * fetched_bytes() / rates.l2_bytes_per_cycle_tensor},
            {"tensor copies", steps * copy_cycles()},
            {"latency of copies", steps * latency()},
            {"gathering warps", steps * gather_cycles()},
            {"mapping warps", steps * map_cycles()},
            {"local memory", steps * local_cycles()},
            {"post-ops and stores", tiles * result_cycles()},
            {"sums of tiles", tiles * sum_cycles()},
            {"join of the cluster", tiles * join_cycles()},
            {"operands of post-ops", tiles * ahead_cycles()},
            {"memory", memory_seconds()},
            {"narrow stores", store_seconds()},
            {"launch", target.launch_us * 1e-6}};
  }

  Estimate run() const {
    Estimate estimate = start();
    const auto tiles = static_cast<double>(tile_grid(gemm).tiles());
    const double turn = busy_cycles(1) / rates.wgmma_clock_hz;
    estimate.compute = turn;
    estimate.waves = turns() * target.compute_units / tiles;
    estimate.memory = std::max(memory_seconds(), store_seconds());
    const double busy = busy_cycles(turns()) / rates.wgmma_clock_hz;
    estimate.seconds = std::max(busy, estimate.memory) +
                       kNotOverlapped * std::min(busy, estimate.memory) + estimate.launch;
    estimate.reasons = {{"tiles", tiles, ""},
                        {"turns", turns(), "per multiprocessor"},
                        {"steps", static_cast<double>(most_steps(gemm)), "per tile"},
                        {"step", step_cycles(), "cycles"},
                        {"tile", turn * 1e6, "us"},
                        {"memory", estimate.memory * 1e6, "us"},
                        {"launch", target.launch_us, "us"}};
    if (map_cycles() > 0)
      estimate.reasons.push_back(
          {"maps and turned tiles", map_cycles(), "cycles per step, beside the others"});
    if (order.split_k > 1)
      estimate.reasons.push_back({"join", join_cycles() / rates.wgmma_clock_hz * 1e6, "us"});
    return estimate;
  }
};

} // namespace

double operand_bytes(const nest::Nest &nest) {
  double bytes = 0;
  for (const nest::Operand &extra : nest.extras)
    if (nest.slots[extra.slot].elems >= results_of(nest))
      bytes += static_cast<double>(size_bytes(type_of(nest, extra)));
  return bytes;
}

double scattered_cycles(const schedule::Gemm &gemm, const Target &target) {
  const nest::Linear out = nest::flat(gemm.nest.out, gemm.nest.indices.size());
  const double sector = target.sector_bytes;
  const double all = static_cast<double>(gemm.tile.rows * gemm.tile.columns);
  if (out.coeff[gemm.roles.channel] == 1) {
    const std::int64_t run = aligned_run(gemm);
    const bool is_whole = run == gemm.run();
    return is_whole ? 0 : all / static_cast<double>(run) * sector / target.rates.l2_bytes_per_cycle;
  }
  const double size = static_cast<double>(size_bytes(type_of(gemm.nest, gemm.nest.out)));
  const double apart = size * static_cast<double>(std::llabs(out.coeff[gemm.roles.pixels.back()]));
  const double run = std::max(1.0, std::floor(sector / std::max(apart, size))); // in a sector
  return all / std::min(run, kPixels) * sector / target.rates.l2_bytes_per_cycle;
}

Estimate predict_gemm(const schedule::Gemm &gemm, const Target &target, const FedRing &fed) {
  return gemm.is_wgmma() ? WgmmaModel{{gemm, target, fed}}.run()
                         : MmaModel{{gemm, target, fed}}.run();
}

Demands gemm_demands(const schedule::Gemm &gemm, const Target &target, const FedRing &fed) {
  return gemm.is_wgmma() ? WgmmaModel{{gemm, target, fed}}.demands()
                         : MmaModel{{gemm, target, fed}}.demands();
}

Estimate predict_core_tile(const schedule::Gemm &tile, const Target &unit) {
  const FedRing none;
  const MmaModel model{{tile, unit, none}};
  const auto steps = static_cast<double>(core_steps(tile));
  Estimate estimate;
  estimate.blocks = 1;
  estimate.waves = 1;
  estimate.compute =
      static_cast<double>(core_blocks(tile)) *
      (steps * model.step_cycles(1) + model.store_cycles(1) + model.rates.mma_block_cycles) *
      model.cycle;
  estimate.seconds = estimate.compute;
  return estimate;
}

Figures gemm_figures(const schedule::Gemm &gemm, const Target &target) {
  const std::vector<schedule::LocalBuffer> buffers = local_buffers(gemm);
  const int ring = step_stages(gemm.schedule) + halo_stages(gemm.schedule);
  const bool is_of_wgmma = gemm.is_wgmma();
  const FedRing none;
  Figures figures;
  figures.blocks = static_cast<double>(core_blocks(gemm));
  figures.work_items = static_cast<double>(group_size(gemm.schedule));
  figures.barriers = figures.blocks * (is_of_wgmma ? 1 : static_cast<double>(core_steps(gemm)));
  figures.local_bytes = is_of_wgmma
                            ? static_cast<double>(ring_bytes(buffers)) + kBarrierBytes * ring
                            : static_cast<double>(local_bytes(buffers));
  if (is_of_wgmma)
    return figures;
  figures.registers = MmaModel{{gemm, target, none}}.registers();
  figures.local_conflicts = 0;
  return figures;
}

} // namespace tilefuse::cost
