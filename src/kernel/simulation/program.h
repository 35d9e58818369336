// SPDX-License-Identifier: Apache-2.0
// A kernel as a flat list of operations on rows of cells: what a warp executes. A value of `lanes`
// lanes is `lanes` rows of one cell per work-item, at a slot; temporaries, variables and register
// values have fixed slots, so that nothing is allocated while a kernel runs.
//
//   acc[0] = fma(x[i], w, acc[0])   ->   Load t0 = x[i];  Fma t1 = t0, w, acc[0];  Copy acc[0] = t1
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/counts.h"
#include "kernel/nodes.h"

namespace tilefuse::kernel::simulation {

// One lane of a value: `real` for floating-point types, else `whole` (Bool: 0 or 1).
union Cell {
  double real;
  std::int64_t whole;
};

// First cell; below 0: ~slot within the constants.
using Slot = std::int32_t;

enum class Code : std::uint8_t {
  Apply,         // to = scalar(a, b)
  Select,        // to = a ? b : c
  Fma,           // to = a * b + c
  Dot,           // to = c + `number` products of a and b
  Convert,       // to = a from elem to to_elem
  Broadcast,     // to = the `number` rows of a, over and over
  Copy,          // to = a
  CheckRegister, // register value `number` must be written
  LoadRegister,  // to = value a of the buffer
  StoreRegister, // active work-items: value `number`, or value b, of the buffer = a
  Load,          // to = lanes elements of the buffer at a, `number` apart, those below b if b given
  LoadOfRank,    // the same of the block of rank c
  Store,         // the same of c
  Index,         // the index a is computed and nothing done with it: a prefetch
  LoopBegin,     // to = a; keeps the mask
  LoopTest,      // masks work-items with to >= a; none left: restores the mask, goes to target
  LoopNext,      // to += number; goes to target
  IfBegin,       // masks work-items without a; none left: goes to target
  IfElse,        // masks the others; none left: goes to target
  IfEnd,         // restores the mask
  Barrier,
  Intrinsic, // what the line says, of operands
  End,
};

struct Op {
  Code code{};
  ScalarOp scalar{};
  DType elem{};    // of the operands
  DType to_elem{}; // of the result
  int lanes = 1;
  Slot to = 0;
  Slot a = 0;
  Slot b = 0;
  Slot c = 0;
  bool has_b = false;
  int buffer = -1;
  std::int64_t number = 0;
  double fill = 0;
  int target = 0;
  int operands = 0; // of an intrinsic, in Program::operands from `number` on
  int line = 0;     // of Program::lines
  int access = -1;  // of Program::accesses; an intrinsic may have several
};

// What an expression of an intrinsic was computed to.
struct OperandSlot {
  ExprRef expr = nullptr;
  Slot slot = 0;
};

// Where the values of a Register buffer lie.
struct RegisterPlace {
  Slot slot = 0;  // of value 0; the next is `lanes` rows further
  int number = 0; // of value 0, counted over all buffers
  int lanes = 1;  // of a value; of all its rows
};

struct Program {
  int width = 1;               // cells of a row: work-items of a warp
  bool awaits_earlier = false; // somewhere, and so not from the beginning
  std::vector<Op> ops;
  std::vector<StmtRef> lines;         // by Op::line
  std::vector<AccessCounts> accesses; // empty counts
  std::vector<Cell> constants;
  std::vector<OperandSlot> operands;    // of intrinsics
  std::vector<RegisterPlace> registers; // by BufferId
  int register_values = 0;
  Slot lane_slot = 0; // the work-item's number
  Slot block_slot = 0;
  Slot cells = 0; // of one warp
};

} // namespace tilefuse::kernel::simulation
