// SPDX-License-Identifier: Apache-2.0
// The `kernel` level (semtree): what one block runs. A closed set of immutable nodes in the
// kernel's arena; built only through kernel/build.h, walked only through kernel/walk.h, matched
// with std::visit and no catch-all.
//
//   kernel conv blocks 784 block_size 1 {
//     global const b0 f32[200704]
//     global b2 f32[200704]
//     local s0 f32[11136]
//     register a0 f32x8[12]
//     for y in 0..4 {
//       let p = (block / 14) * 896 + y * 64
//       unroll k in 0..12 { a0[k] = f32x8(0) }
//       for c in 0..64 { unroll k in 0..12 { a0[k] = fma(broadcast(b0[p + c + k * 64], 8), b1[c * 8
//       .. 8], a0[k]) } }
//     }
//   }
//
// Values: integers of index arithmetic have type {I32, 1} and are called `int`; a back end may
// widen them. Comparisons give {Bool, lanes}. Storage types F16 and BF16 appear only in buffers and
// in the Cast that follows a load or precedes a store. `block` is the block's number, `lane` the
// work-item's within the block (0 when block_size is 1).
//
// Registers are arrays of (vector) values private to a work-item; after unrolling every register
// index is a constant. Local buffers are shared by the block; barriers separate their writers from
// their readers when block_size > 1.
//
// Matrix instructions (LoadMatrix, Mma) are executed by a whole warp of 32 work-items; a fragment
// is one value of a Register buffer with as many lanes as the row of target/core_ops.h gives a
// work-item, or neighbouring values that have as many together. Asynchronous copies become visible to the
// work-item that issued them after an AsyncWait and to others after a barrier on top of it.
//
// A Register buffer of `rows` holds registers of a processor's matrix unit, each of that many rows:
//
//   register sums i32x16[4 * 14]
//   register data u8x64[1 * 14]
//   register filter i8x64[2 * 16]
//   rows_zero sums[0]
//   rows_load data[0] = b0[c] apart 256
//   rowdot4.u8.s8.s32 sums[0] += data[0] * filter[0]
//   rows_store s1[0] apart 16 = sums[0]
//
// Blocks meet in Global memory alone, at elements of a buffer of `counts`: each is 0 when the
// kernel begins, and again when it ends. A Ticket adds 1 to one. Whoever takes a later ticket there
// sees what the takers of earlier ones knew; so the last of n blocks, which finds n - 1, may read
// what the others stored.
//
//   barrier
//   if lane == 0 { ticket found[0] = arrived[block / 8] }
//   barrier
//   if found[0] == 7 { … }
//
// A kernel may be started before those launched earlier have ended. With AwaitEarlier a work-item
// waits until they have, and sees what they stored; before that it reads no Global memory but
// `fixed` buffers, which no kernel ever writes, and writes none. A kernel in which none stands
// waits where it begins.
//
//   tensor_copy filter[0] = t1[c, 64] signals bars[0]
//   await_earlier
//   tensor_copy data[0] = t0[c, 0] signals bars[0]
//
// Tensor copies and Wgmma run beside the warps that start them. A tensor copy moves a box of a
// TensorMap into Local memory and counts its bytes off an mbarrier: an element of a Local i64
// buffer whose phase completes when its arrivals and the bytes they expect have all come; it then
// starts the next phase. Wgmma multiplies from Local memory into registers that nothing touches
// until a WgmmaSync has waited for it.
//
//   tensor_map t0 = b0 + 0 dims [64, 56, 56, 32] strides [1, 64, 3584, 200704] box [64, 128]
//     lower [-1, -1] upper [-1, -1] steps [1, 1] swizzle 128
//   mbarrier_init bars[0] 1
//   mbarrier_expect bars[0] 16384
//   tensor_copy data[0] = t0[0, x - 1, y - 1, n] offsets [s, r] signals bars[0]
//   mbarrier_wait bars[0] 0
//   tensor_store t1[c, pixel] = boxes[0]
//   wgmma.m64n128k16.f16.f32 acc[0] += data[0] * filter[0] rows 128 when 0 < step
//
// `cluster` neighbouring blocks run together: a tensor copy may write to several of them (`ranks`),
// each at the same place, and count off the same mbarrier of each; a block may arrive at another's
// mbarrier (`rank`), and all may meet (`barrier cluster`). A block's rank is block % cluster. What
// others do to a block's Local memory must lie between its init and its end. They may read it too;
// what was written before an arrival `cluster` is seen behind a wait `cluster`.
//
//   tensor_copy filter[4096] = t1[c, 64] signals bars[0] ranks 3
//   mbarrier_arrive bars[4] rank 1
//   mbarrier_wait bars[0] 0 cluster
//   a0[0] = parts[lane rank 1]
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/index.h"
#include "target/core_ops.h"
#include "target/dot_ops.h"
#include "target/dtype.h"

namespace tilefuse::kernel {

struct Type {
  DType elem = DType::I32;
  int lanes = 1;
  friend bool operator==(const Type &, const Type &) = default;
};

enum class Space { Global, Local, Register };
enum class BufferId : int {};
enum class VarId : int {};

// Global buffers come first, in argument order; those of `counts`, which the runtime provides,
// last.
struct Buffer {
  std::string name;
  Space space = Space::Global;
  Type type;              // Register: of one value, lanes included; else lanes is 1
  std::int64_t elems = 0; // Register: values
  bool written = false;   // Global: the kernel stores to it
  bool fixed = false;     // Global, not written: by no other kernel either
  bool counts = false;    // Global i32, written: 0 before the kernel and after it; no argument
  int rows = 0;           // Register: of a value, each of as many lanes; 0: a vector
};

struct Variable {
  std::string name; // unique within the kernel
  Type type;
};

// How boxes of a Global buffer lie: dimensions innermost first, in elements, the first of stride 1.
// A box in Local memory is rows of `swizzle` bytes, which the first dimension of the box fills;
// what lies outside the dimensions is 0. Steps, by dimension from 1 on, part the elements of a box
// (none: 1). With corners the map is `im2col`: the box is {channels,
// points}, and points run over dimensions 1 to the last but one, from `lower` to the size - 1 +
// `upper`, in `steps`, then over the last dimension. The 16-byte chunk c of row r lies at chunk c ^
// s, where s is made of the bits of the row's address above 128 bytes, as many as a row has chunks.
struct TensorMap {
  std::string name;
  BufferId tensor{};
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> box;
  std::vector<std::int64_t> lower; // im2col: by dimension 1 to the last but one, innermost first
  std::vector<std::int64_t> upper;
  std::vector<std::int64_t> steps;
  int swizzle = 128; // 32, 64 or 128
  bool is_im2col() const { return !lower.empty(); }
};
enum class MapId : int {};

struct Expr;
using ExprRef = const Expr *;

struct Const {
  double value = 0;
}; // every lane
struct VarRef {
  VarId var{};
};
struct BlockIndex {};
struct LaneIndex {};
struct Scalar {
  ScalarOp op{};
  std::vector<ExprRef> args;
}; // elementwise on equal types (Select: bool condition)
struct Fma {
  ExprRef a{}, b{}, c{};
}; // a * b + c with one rounding
// c[l] + the products of neighbours op->products * l and on of a and b, by one row of the table of
// dot products; wraps.
struct Dot {
  const DotOp *op = nullptr;
  ExprRef a{}, b{}, c{};
};
struct Cast {
  ExprRef value{};
}; // to the node's type, as C converts; lanes unchanged
struct Broadcast {
  ExprRef value{};
}; // a scalar into every lane, or a shorter vector over and over
// `lanes` elements of a Global or Local buffer from `index`, `lane_stride` elements apart. With
// `valid`, lane l is read only where l < valid and is `fill` elsewhere; nothing outside is touched.
// Register buffers: the value at an index, or from values of one lane a vector of `lanes` of them.
struct Load {
  BufferId buffer{};
  ExprRef index{};
  std::int64_t lane_stride = 1;
  ExprRef valid{}; // int, or null: all lanes
  double fill = 0;
  ExprRef rank{}; // Local: int, of the cluster's block of this rank; null: of this block
};

struct Expr {
  Type type;
  std::variant<Const, VarRef, BlockIndex, LaneIndex, Scalar, Fma, Dot, Cast, Broadcast, Load> node;
};

struct Stmt;
using StmtRef = const Stmt *;

struct Block {
  std::vector<StmtRef> body;
};
// `let` is visible to the rest of the enclosing Block.
struct Let {
  VarId var{};
  ExprRef value{};
};
enum class ForKind { Serial, Unroll };
struct For {
  VarId var{};
  ForKind kind{};
  ExprRef begin{};
  ExprRef end{};
  std::int64_t step = 1;
  StmtRef body{};
};
struct If {
  ExprRef condition{};
  StmtRef then_body{};
  StmtRef else_body{};
}; // else_body may be null
// As Load: lanes at or past `valid` are not stored. The value's lanes are the store's; those of a
// vector may go to values of one lane that follow each other.
struct Store {
  BufferId buffer{};
  ExprRef index{};
  ExprRef value{};
  std::int64_t lane_stride = 1;
  ExprRef valid{};
};
// id 0: the whole block, or with `items` kWarpItems a warp of 32 by itself, or with kClusterItems
// all blocks of the cluster. Else a named barrier that `items` work-items reach, by whole warps.
constexpr std::int64_t kWarpItems = 32;
constexpr std::int64_t kClusterItems = -1;
struct Barrier {
  int id = 0;
  std::int64_t items = 0;
  bool is_of_warp() const { return id == 0 && items == kWarpItems; }
  bool is_of_cluster() const { return id == 0 && items == kClusterItems; }
};
// Hint: fetch the line that holds an element. Never faults.
struct Prefetch {
  BufferId buffer{};
  ExprRef index{};
};

// A value of a Register buffer.
struct RegisterRef {
  BufferId buffer{};
  ExprRef index{};
};
// Exchanges rows and columns of a square: `rows` values of a Register buffer from an index on, of as
// many lanes each.
struct Transpose {
  RegisterRef square;
  int rows = 0; // 2, 4, 8 or 16
};
// A value of a Register buffer becomes that of the work-item of the warp whose number differs in the
// bits of `apart`.
struct Shuffle {
  RegisterRef value;
  int apart = 1; // 1 to 31
};
// `matrices` tiles of 8 rows of 16 bytes from a Local buffer: work-item 8 * j + r of the warp gives
// the first element of row r of tile j. Work-item l receives the 4 bytes l % 4 of row l / 4 of each
// tile, or, transposed (2-byte types), elements 2 * (l % 4) and the next of column l / 4. They fill
// as many values of `to` as it takes.
struct LoadMatrix {
  RegisterRef to;
  BufferId from{};
  ExprRef index{};
  int matrices = 1; // 1, 2 or 4
  bool transposed = false;
};
// acc = a * b + acc by one row of the table of core instructions.
struct Mma {
  const CoreOp *op = nullptr;
  RegisterRef acc;
  RegisterRef a;
  RegisterRef b;
};
// Starts to copy 4, 8 or 16 bytes from Global to Local memory; elements at or past `valid` are not
// read and become 0. Both addresses are aligned to the size.
struct AsyncCopy {
  BufferId to{};
  ExprRef to_index{};
  BufferId from{};
  ExprRef from_index{};
  int elems = 1;
  ExprRef valid{}; // int, or null: all
};
// Makes one group of this work-item's copies since the last commit; may be empty.
struct AsyncCommit {};
// Waits until at most `pending` of this work-item's latest groups are under way.
struct AsyncWait {
  int pending = 0;
};

// An element of a Local buffer; or of a Register buffer as well, where a node says so.
struct LocalRef {
  BufferId buffer{};
  ExprRef index{};
};
// Adds 1 to an element of a Global buffer of `counts` and gives what it held to a Local one: at
// once, with release and acquire among all blocks.
struct Ticket {
  LocalRef to;
  BufferId counts{};
  ExprRef index{};
};
enum class MbarrierOp { Init, Arrive, Expect, Wait };
// Init: `value` arrivals, a constant, complete a phase. Expect: arrives, and `value` bytes will
// come. Wait: until the phase of parity `value` is complete; the phase before the first has
// parity 1. Arrive: no value; at the mbarrier of the block of a rank of the cluster.
struct Mbarrier {
  MbarrierOp op{};
  LocalRef at;
  ExprRef value{};
  ExprRef rank{};           // int, or null: this block's
  bool for_cluster = false; // Arrive, Wait: orders Local memory among the cluster's blocks
};
// Starts to copy the box at `at`, a coordinate for each dimension, to Local memory from `to` on.
// im2col: the box's first point, and what is added to each point's coordinates. Its bytes, those
// filled with 0 too, are counted off `signals`.
struct TensorCopy {
  LocalRef to;
  MapId map{};
  std::vector<ExprRef> at;
  std::vector<ExprRef> offsets; // im2col: by dimension 1 to the last but one
  LocalRef signals;
  ExprRef ranks{}; // int, bit r: to the cluster's block of rank r; null: to this block alone
};
// Starts to copy the box from `from` on in Local memory to the tensor of a map, at a coordinate for
// each dimension (im2col: those of its first point); what lies outside the dimensions is left out.
struct TensorStore {
  MapId map{};
  std::vector<ExprRef> at;
  LocalRef from;
};
enum class StoreStep { Fence, Commit, Wait };
// Fence: tensor stores and Wgmma may read what this work-item has written to Local memory, once a
// barrier or mbarrier has told those that start them. Commit: makes one group of this work-item's
// TensorStores since the last. Wait: until at most `pending` of its latest groups have yet to read
// Local memory.
struct StoreSync {
  StoreStep step{};
  int pending = 0;
};
// acc = a * b + acc, or a * b where `accumulate` does not hold (null: it holds), by four warps. a
// is op->m rows of k, b op->n rows of k, each in rows of its `row_bytes` as a TensorCopy of such
// rows leaves them; an operand with a `panel` lies turned: rows of k, of which each holds row_bytes
// of m or n, in panels that many elements apart. One with `lines` has but 8 rows next to each
// other, the next 8 that many elements further, and starts at any row. Or a is a fragment in
// registers, written before the WgmmaSync that fences them, and not again before the wait.
struct Wgmma {
  const CoreOp *op = nullptr;
  RegisterRef acc;
  LocalRef a;
  LocalRef b;
  int a_row_bytes = 128;
  int b_row_bytes = 128;
  std::int64_t a_panel = 0;
  std::int64_t b_panel = 0;
  std::int64_t a_lines = 0;
  std::int64_t b_lines = 0;
  ExprRef accumulate{}; // bool
};
enum class WgmmaStep { Fence, Commit, Wait };
// Fence: registers written so far may be accumulated into. Commit: makes one group of this warp's
// Wgmma since the last. Wait: until at most `pending` groups are under way.
struct WgmmaSync {
  WgmmaStep step{};
  int pending = 0;
};
// Four warps give registers of a work-item back, or take more, so that each has `count`.
struct RegisterLimit {
  bool more = false;
  int count = 0;
};
// Waits until the kernels launched before this one have ended.
struct AwaitEarlier {};

// Registers of rows (Buffer::rows), which a work-item's matrix unit multiplies; nothing but these
// touches them. RowsZero: all elements of one are 0. RowsLoad and RowsStore: from memory and to it,
// rows `apart` elements from one to the next.
struct RowsZero {
  RegisterRef to;
};
struct RowsLoad {
  RegisterRef to;
  BufferId from{};
  ExprRef index{};
  std::int64_t apart = 0;
};
struct RowsStore {
  BufferId to{};
  ExprRef index{};
  std::int64_t apart = 0;
  RegisterRef from;
};
// acc[r][l] += a[r][g * products + i] * b[g][l * products + i] over groups g, the rows of b, and
// their neighbours i, by one row of the table of dot products; wraps.
struct RowsDot {
  const DotOp *op = nullptr;
  RegisterRef acc;
  RegisterRef a;
  RegisterRef b;
};

// What a kernel asks of a device beyond plain loops and memory; a row of kernel/intrinsics.h says
// of each how it is written, what it holds and who executes it.
using Intrinsic =
    std::variant<Transpose, Shuffle, LoadMatrix, Mma, AsyncCopy, AsyncCommit, AsyncWait, Ticket,
                 Mbarrier, TensorCopy, TensorStore, StoreSync, Wgmma, WgmmaSync, RegisterLimit,
                 AwaitEarlier, RowsZero, RowsLoad, RowsStore, RowsDot>;

struct Stmt {
  std::variant<Block, Let, For, If, Store, Barrier, Prefetch, Intrinsic> node;
};

// The intrinsic of that kind that a statement is; null for other statements.
template <class Kind> const Kind *get_intrinsic(StmtRef stmt) {
  const auto *intrinsic = std::get_if<Intrinsic>(&stmt->node);
  return intrinsic == nullptr ? nullptr : std::get_if<Kind>(intrinsic);
}

// Owns its nodes. Moving keeps references valid.
struct Kernel {
  std::string name; // readable; the symbol is derived from it
  std::int64_t blocks = 1;
  std::int64_t cluster = 1; // neighbouring blocks that run together; divides `blocks`
  std::int64_t block_size = 1;
  std::vector<Buffer> buffers;
  std::vector<TensorMap> maps;
  std::vector<Variable> variables;
  StmtRef body = nullptr;
  double flops = 0; // of the whole grid
  double bytes = 0; // it must at least move

  std::unique_ptr<std::deque<Expr>> exprs = std::make_unique<std::deque<Expr>>();
  std::unique_ptr<std::deque<Stmt>> stmts = std::make_unique<std::deque<Stmt>>();

  const Buffer &operator[](BufferId id) const { return buffers[at(id)]; }
  const TensorMap &operator[](MapId id) const { return maps[at(id)]; }
  const Variable &operator[](VarId id) const { return variables[at(id)]; }
};

} // namespace tilefuse::kernel
