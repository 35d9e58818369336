// SPDX-License-Identifier: Apache-2.0
// Two products with rows between them (poly/row_group.h) as one kernel of matrix instructions. Both
// have a schedule: the anchor's, and that of the first product as a producer's.
//
//   schedule rows_mma workitem             64 rows a block, 16 a warp, with all their keys
//     tile   m:1 h:1 n:64 k:208            208: keys to whole instructions, one step of depth
//     vec    n:4
//     mma    m16n8k16.f16.f32 m 64 warps 4 1
//     loop   h m n k
//     produce 0
//     pipe   0 items stages 1
//     pipe   1 cp_async stages 1
//   producer 4
//   schedule rows_mma workitem
//     tile   h:1 m:1 n:208                 its columns are the anchor's depth
//     vec    n:2
//     mma    m16n8k16.f16.f32 m 64 warps 4 1
//     …
//
// A warp has its rows in registers from the first product to the second: what an instruction gives
// of 8 columns, a work-item's pairs of neighbours in two rows, is half of what another reads of 16
// points of depth. Maps are evaluated there. A statistic is combined in a row's four work-items
// first and between them through local memory. The filters, all of them, and the data of the first
// product are copied once.
//
// With `warps R C` in both, C warps share 16 rows: each has a C-th of the keys, columns of the
// first product and depth of the second, and statistics are combined between them too. So a warp
// has a part of the sums of all columns of the second product; the C parts are added through local
// memory, in their order, each warp those of the C-th of the columns that it stores.
//
//   mma    m16n8k16.f16.f32 m 32 warps 2 4   32 rows a block, of 768 keys a warp has 192
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "poly/row_group.h"
#include "schedule/mma/core.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Why the schedule cannot run a group with rows; nothing when it can.
std::optional<std::string> wrong_rows(const poly::Group &group, const Schedule &schedule,
                                      const Target &target);

// The anchor's index that walks the rows as one of the first product's does; none of its key.
// Requires that wrong_rows gives no reason.
std::optional<IndexId> index_like(const poly::Group &group, IndexId of_first);

// Work-items that copy the first product's data, the first of a block: all, or one for each copy.
std::int64_t copying_items(const Gemm &first);

// Registers of a work-item: sums of both products, of the rows that a map reads while others are
// written its warp's keys, and what instructions read.
std::int64_t row_registers(const Gemm &first, const Gemm &second);

} // namespace tilefuse::schedule
