// SPDX-License-Identifier: Apache-2.0
// What differs between C-like languages (c_like.h): words, and a few functions that spell vector
// types, accesses and conversions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/nodes.h"

namespace tilefuse::emit {

// Instructions of a warp and asynchronous copies, as statements. A fragment is a list of 4-byte
// words, an accumulator a list of its values. A language may have the copies alone.
struct MatrixDialect {
  using Words = std::vector<std::string>;
  std::string (*load_matrix)(bool transposed, const Words &to, const std::string &pointer);
  std::string (*mma)(const CoreOp &op, const Words &acc, const Words &a, const Words &b);
  // Of `copied` of `bytes` bytes, the rest becomes 0.
  std::string (*async_copy)(std::int64_t bytes, const std::string &to, const std::string &from,
                            const std::string &copied);
  std::string_view copied; // format string: of so many elements and so many at most, 0 or more
  std::string_view async_commit;
  std::string_view async_wait; // format string, given the groups that may be under way
};

// A wgmma: pointers to its operands, and what else its text needs.
struct WgmmaText {
  const CoreOp &op;
  std::vector<std::string> acc;
  std::string a, b;
  int a_row_bytes = 128;
  int b_row_bytes = 128;
  std::int64_t a_panel_bytes = 0; // 0: not turned
  std::int64_t b_panel_bytes = 0;
  std::int64_t a_lines_bytes = 0; // 0: rows without gaps
  std::int64_t b_lines_bytes = 0;
  std::string accumulate; // an int: 0 or not
};

// A tensor copy: names and pointers; offsets are empty for a tiled map, ranks for this block alone.
struct TensorCopyText {
  std::string map, to;
  std::vector<std::string> at, offsets;
  std::string signals, ranks;
};

// An mbarrier: a pointer to it, a value or nothing; `rank`: of the block of the cluster at whose
// mbarrier to arrive; empty: this block.
struct MbarrierText {
  kernel::MbarrierOp op{};
  std::string at, value, rank;
  bool for_cluster = false;
};

// Tensor copies, mbarriers and wgmma, as statements.
struct TensorDialect {
  std::string_view map_type;        // of a parameter
  std::string_view cluster;         // format string of an entry point's attribute, given the blocks
  std::string_view cluster_barrier; // a statement
  std::string_view fetch_map;       // format string of a statement, given a map: it will be needed
  std::string_view of_rank; // format string of a pointer to local memory of another block, given
                            // this block's and the rank
  std::string (*mbarrier)(const MbarrierText &node);
  std::string (*copy)(const TensorCopyText &node);
  std::string (*store)(const std::string &map, bool is_im2col, const std::vector<std::string> &at,
                       const std::string &from);
  std::string (*store_sync)(const kernel::StoreSync &node);
  std::string (*wgmma)(const WgmmaText &node);
  std::string (*wgmma_sync)(const kernel::WgmmaSync &node);
  std::string (*register_limit)(const kernel::RegisterLimit &node);
};

struct Dialect {
  std::string_view name;            // in errors: "OpenCL C"
  std::string_view prologue;        // first lines
  std::string_view fp64_prologue;   // printed when a double is used
  std::string_view tensor_prologue; // printed when there are tensor maps
  std::string_view entry;    // format string of the entry point's qualifiers, given the block size
  std::string_view helper;   // qualifiers of a small function
  std::string_view outlined; // qualifiers of a function that stays one
  std::string_view global_space;  // with a trailing blank, may be empty
  std::string_view local_space;   // of a pointer into scratch that the block shares
  std::string_view local_array;   // of its declaration
  std::string_view private_space; // of both, for scratch of one work-item
  std::string_view byte_type;     // of memory that a buffer lies in
  std::string_view offset_type;   // of a buffer's offset in it, bytes
  std::string_view restrict_word;
  std::string_view block_index; // as an int
  std::string_view lane_index;
  std::string_view await_earlier; // a statement; empty: earlier kernels have always ended
  std::string_view let_later;     // a statement: kernels launched later may be started
  std::string_view barrier;       // a statement
  std::string_view warp_barrier;  // the same for a warp; empty: there is none
  // Format string of a ticket, given what takes it and a pointer to the count; empty: there is
  // none.
  std::string_view ticket;
  std::string_view prefetch; // format string of a statement, given a pointer; empty: none
  bool by_element = false;   // vectors of any alignment are read so: parts of them without a branch
  // A quirk of its compiler: in kernels that hold at most so many values in registers, parts of
  // vectors of elements below 4 bytes are selected and not branched to, so that several loads are
  // in flight, which takes registers. 0: they are branched to everywhere.
  std::int64_t select_registers = 0;
  // Format string of a local array's attribute, given bytes; empty: vectors are never read or
  // written as one access.
  std::string_view aligned;
  // Format string of a declaration of the block's memory, given its alignment, as one array of
  // bytes whose size the launch gives; empty: there is no limit beyond the target's. Larger blocks
  // than `local_limit` bytes are held so.
  std::string_view sized_local;
  std::int64_t local_limit = 0;
  const MatrixDialect *matrix = nullptr; // null: the language has no such instructions
  const TensorDialect *tensor = nullptr; // null: the same

  // The C type of a scalar held as a value, or of an element in memory ("uchar" of bool).
  std::string (*value_elem)(DType elem);
  std::string (*memory_elem)(DType elem);
  // The type a local array of `elem` is declared with, where memory_elem cannot be.
  std::string (*array_elem)(DType elem);
  // Vector type of a scalar type's name; Error{Unsupported} for widths that the language lacks.
  std::string (*vector)(const std::string &elem, int lanes);
  // A vector from one scalar or from one scalar per lane, joined by commas.
  std::string (*compose)(const std::string &vector_type, const std::string &lanes);
  std::string (*lane)(const std::string &value, int lane);
  // a where the mask holds, else b; of vectors and their masks.
  std::string (*select)(const std::string &mask, const std::string &a, const std::string &b);
  // Contiguous elements at base[index] as values, and back.
  std::string (*load)(DType elem, int lanes, const std::string &base, const std::string &index);
  std::string (*store)(DType elem, int lanes, const std::string &base, const std::string &index,
                       const std::string &value);
  // A vector of a type that is the same in memory, to any address of this space, for processors;
  // null: `store`.
  std::string (*packed_store)(DType elem, int lanes, std::string_view space,
                              const std::string &pointer, const std::string &value);
  // The same of a vector whose first element is aligned to as many elements, as one access; null:
  // `aligned` says how.
  std::string (*wide_load)(DType elem, int lanes, const std::string &base,
                           const std::string &index);
  std::string (*wide_store)(DType elem, int lanes, const std::string &base,
                            const std::string &index, const std::string &value);
  // Conversion between the C types of values; float to integer truncates and saturates, NaN gives
  // 0.
  std::string (*convert)(const kernel::Type &from, const kernel::Type &to,
                         const std::string &value);
  // A vector of f32 rounded half to even within whole bounds (`low` none: that of the type) and
  // held as 8-bit integers `to`; NaN gives 0. Null: step by step.
  std::string (*round_convert)(const kernel::Type &to, const std::string &value,
                               std::optional<double> low, std::optional<double> high);
};

} // namespace tilefuse::emit
