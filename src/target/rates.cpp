// SPDX-License-Identifier: Apache-2.0
#include "target/rates.h"

#include <array>

namespace tilefuse {
namespace {

constexpr auto kFields = std::to_array<RateField>({
    {"unit_items", &Rates::unit_items},
    {"unit_blocks", &Rates::unit_blocks},
    {"unit_registers", &Rates::unit_registers},
    {"item_registers", &Rates::item_registers},
    {"schedulers", &Rates::schedulers},
    {"scheduler_lanes", &Rates::scheduler_lanes},
    {"fma_latency_cycles", &Rates::fma_latency_cycles},
    {"issue_per_cycle_beside_mma", &Rates::issue_per_cycle_beside_mma},
    {"issue_per_scheduler_one_warp", &Rates::issue_per_scheduler_one_warp},
    {"issue_per_scheduler_two_warps", &Rates::issue_per_scheduler_two_warps},
    {"matrix_half_ops_per_cycle", &Rates::matrix_half_ops_per_cycle},
    {"mma_half_ops_per_cycle", &Rates::mma_half_ops_per_cycle},
    {"wgmma_clock_hz", &Rates::wgmma_clock_hz},
    {"wgmma_time_ratio", &Rates::wgmma_time_ratio},
    {"wgmma_operand_cycles", &Rates::wgmma_operand_cycles},
    {"local_bytes_per_cycle", &Rates::local_bytes_per_cycle},
    {"local_bytes_per_cycle_mma", &Rates::local_bytes_per_cycle_mma},
    {"local_latency_cycles", &Rates::local_latency_cycles},
    {"l1_latency_cycles", &Rates::l1_latency_cycles},
    {"l2_bytes_per_cycle", &Rates::l2_bytes_per_cycle},
    {"l2_bytes_per_cycle_async", &Rates::l2_bytes_per_cycle_async},
    {"l2_bytes_per_cycle_tensor", &Rates::l2_bytes_per_cycle_tensor},
    {"l2_latency_cycles", &Rates::l2_latency_cycles},
    {"l2_over_memory", &Rates::l2_over_memory},
    {"store_bytes_per_cycle", &Rates::store_bytes_per_cycle},
    {"narrow_store_bytes_per_s", &Rates::narrow_store_bytes_per_s},
    {"mma_memory_share", &Rates::mma_memory_share},
    {"wgmma_memory_time_ratio", &Rates::wgmma_memory_time_ratio},
    {"operand_read_cycles", &Rates::operand_read_cycles},
    {"sum_again_time_ratio", &Rates::sum_again_time_ratio},
    {"async_copy_later_cycles", &Rates::async_copy_later_cycles},
    {"async_copy_latency_cycles", &Rates::async_copy_latency_cycles},
    {"tensor_copy_latency_cycles", &Rates::tensor_copy_latency_cycles},
    {"tensor_copy_latency_ahead_cycles", &Rates::tensor_copy_latency_ahead_cycles},
    {"tensor_copy_latency_shallow_cycles", &Rates::tensor_copy_latency_shallow_cycles},
    {"tensor_copy_row_cycles", &Rates::tensor_copy_row_cycles},
    {"im2col_row_cycles", &Rates::im2col_row_cycles},
    {"barrier_cycles", &Rates::barrier_cycles},
    {"block_start_cycles", &Rates::block_start_cycles},
    {"block_interval_cycles", &Rates::block_interval_cycles},
    {"mma_block_cycles", &Rates::mma_block_cycles},
    {"mma_step_cycles", &Rates::mma_step_cycles},
    {"ring_step_cycles", &Rates::ring_step_cycles},
    {"ring_step_turns_cycles", &Rates::ring_step_turns_cycles},
    {"cluster_step_cycles", &Rates::cluster_step_cycles},
    {"map_step_cycles", &Rates::map_step_cycles},
    {"cluster_join_cycles", &Rates::cluster_join_cycles},
    {"cluster_bytes_per_cycle", &Rates::cluster_bytes_per_cycle},
    {"tile_join_seconds", &Rates::tile_join_seconds},
    {"load_round_seconds", &Rates::load_round_seconds},
    {"unit_bytes_per_s", &Rates::unit_bytes_per_s},
    {"following_launch_share", &Rates::following_launch_share},
});

} // namespace

std::span<const RateField> rate_fields() { return kFields; }

} // namespace tilefuse
