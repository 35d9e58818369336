// SPDX-License-Identifier: Apache-2.0
// How fast the parts of a GPU are: the figures by which the cost model turns counts of a kernel
// (instructions, bytes, steps) into time. They stand in the [rates] table of a row of devices/,
// under the names and in the units that they have here; rates that were fitted to times of one
// device are given to others by `rates_like`, which says so. What belongs to generated code, such
// as the instructions of a copy, stands in cost/.
//
//   [rates]
//   l2_bytes_per_cycle = 42.0
//   barrier_cycles = 30.0
//
// "Unit" is a multiprocessor, of which each figure is unless it says otherwise. Every figure is 1
// until it is stated, which is nobody's.
#pragma once

#include <span>
#include <string_view>

namespace tilefuse {

struct Rates {
  // What a unit holds.
  double unit_items = 1;     // resident work-items
  double unit_blocks = 1;    // resident blocks
  double unit_registers = 1; // of 32 bits
  double item_registers = 1; // that one work-item can have at most

  // Issue and arithmetic.
  double schedulers = 1;                    // each starts an instruction of a warp per cycle
  double scheduler_lanes = 1;               // work-items that one instruction serves
  double fma_latency_cycles = 1;            // until a multiply-add's result is there
  double issue_per_cycle_beside_mma = 1;    // instructions of maps, between multiplications
  double issue_per_scheduler_one_warp = 1;  // instructions per cycle of the one warp that maps
  double issue_per_scheduler_two_warps = 1; // the same of two that take steps in turn

  // Matrix units.
  double matrix_half_ops_per_cycle = 1; // peak on elements of 16 bits, dense
  double mma_half_ops_per_cycle = 1;    // that instructions of one warp reach
  double wgmma_clock_hz = 1;            // that power leaves to matrix units at work
  double wgmma_time_ratio = 1;          // over an instruction's own cycles
  double wgmma_operand_cycles = 1;      // of an instruction, besides the columns that it reads

  // Local memory and the first-level cache.
  double local_bytes_per_cycle = 1;     // of both together
  double local_bytes_per_cycle_mma = 1; // of local memory, that mma and its copies reach
  double local_latency_cycles = 1;      // of a read of local memory
  double l1_latency_cycles = 1;         // of a read that hits the first level

  // The second-level cache.
  double l2_bytes_per_cycle = 1;        // by reads and writes of work-items
  double l2_bytes_per_cycle_async = 1;  // by asynchronous copies of work-items
  double l2_bytes_per_cycle_tensor = 1; // by tensor copies
  double l2_latency_cycles = 1;         // that a read takes beyond the first level's
  double l2_over_memory = 1;            // bytes that it serves over main memory's, of the device
  double store_bytes_per_cycle = 1;     // of results of mma
  double narrow_store_bytes_per_s = 1;  // stored in less than whole lines, of the device

  // Main memory.
  double mma_memory_share = 1;        // of the bandwidth, that kernels with mma reach
  double wgmma_memory_time_ratio = 1; // over the time at the whole bandwidth
  double operand_read_cycles = 1;     // of 128 values that the end of a tile reads in place
  double sum_again_time_ratio = 1;    // of a sum of what the kernel before wrote, over its own

  // Copies to local memory.
  double async_copy_later_cycles = 1;            // than a load's, what a copy brought can be read
  double async_copy_latency_cycles = 1;          // until a copy beside mma arrives
  double tensor_copy_latency_cycles = 1;         // until a tensor copy arrives
  double tensor_copy_latency_ahead_cycles = 1;   // the same where tiles are copied ahead beside
  double tensor_copy_latency_shallow_cycles = 1; // the same in a ring of few buffers
  double tensor_copy_row_cycles = 1;             // of a row of a box, however short
  double im2col_row_cycles = 1;                  // the same where a map walks three dimensions

  // Barriers and blocks.
  double barrier_cycles = 1;          // of a barrier of a block
  double block_start_cycles = 1;      // until a block's first instruction
  double block_interval_cycles = 1;   // from the start of one block to that of the next, at least
  double mma_block_cycles = 1;        // to start and end a block with mma
  double mma_step_cycles = 1;         // of the barrier and the loop around a step
  double ring_step_cycles = 1;        // of the waits of a step with wgmma
  double ring_step_turns_cycles = 1;  // the same where two groups take tiles in turn
  double cluster_step_cycles = 1;     // more where blocks of a cluster wait for each other
  double map_step_cycles = 1;         // of a step of maps: waiting, fence, arriving
  double cluster_join_cycles = 1;     // until the blocks of a cluster have met and read
  double cluster_bytes_per_cycle = 1; // of accumulators that they exchange, written and read

  // Joins of parts and launches.
  double tile_join_seconds = 1;      // of barriers, landed stores and a ticket, per launch
  double load_round_seconds = 1;     // of loads that are under way together, with what follows
  double unit_bytes_per_s = 1;       // from the cache that all units share to one of them
  double following_launch_share = 1; // of launch_us, behind another launch in one queue

  friend bool operator==(const Rates &, const Rates &) = default;
};

struct RateField {
  std::string_view key;
  double Rates::*member;
};

// Names of all rates, in declaration order.
std::span<const RateField> rate_fields();

} // namespace tilefuse
