// SPDX-License-Identifier: Apache-2.0
// Results and operands of wgmma's post-ops as matrices of points, and the panels of their tiles in
// local memory: rows that tensor copies leave swizzled, in which work-items that have runs of
// neighbouring channels meet in no bank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {

// With `store tma` the result lies as one matrix of points, or as an image whose pixels an
// im2col map walks (those of a class of a strided gradient), and a warp's results leave in boxes of
// kPanelRows rows of a panel of columns (half as many where blocks of a cluster each store one of the
// rows 8 apart): those of one run of each of 4 work-items, or of 128 bytes
// where runs are pairs. A warp has some buffers for them, which divide those of a tile.
struct StorePanel {
  std::int64_t rows = kPanelRows;
  std::int64_t columns = 0;
  std::int64_t elem_bytes = 0;
  std::int64_t boxes = 1; // buffers of a warp
  std::int64_t row_bytes() const { return columns * elem_bytes; }
  std::int64_t elems() const { return rows * columns; }
};
StorePanel store_panel(const Gemm &gemm);
// Of a panel whose elements take so many bytes.
std::int64_t panel_columns(const Gemm &gemm, std::int64_t elem_bytes);
// Whether tiles are made of such panels, and work-items read or write a run at once.
bool is_panel(const Gemm &gemm, std::int64_t columns, std::int64_t elem_bytes);
// Elements from a point of an operand to the next; nothing where points are no rows of a matrix of
// neighbouring channels.
std::optional<std::int64_t> matrix_stride(const nest::Nest &nest, const nest::Operand &operand,
                                          const CoreRoles &roles);

// The map by which they do: of a matrix, or im2col with the index of each dimension after the
// first.
DataMap result_map(const Gemm &gemm);

// Why results cannot leave in boxes, if the schedule says so.
std::optional<std::string> wrong_store(const Gemm &gemm);

} // namespace tilefuse::schedule
