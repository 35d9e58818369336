// SPDX-License-Identifier: Apache-2.0
// Runs a kernel on the host and checks what a device would leave undefined; counts what a device
// would spend. Work-items run warp by warp, each warp with a program counter of its own until it
// waits at a barrier; a warp executes a statement for all its active work-items together.
//
// Arithmetic: f32 rounds to float after each operation, f64 is double; i8 and u8 wrap after each
// operation, i32 vectors too, and i32 scalars (which back ends may widen) when stored or cast. A
// cast from floating point truncates and saturates, NaN gives 0; a cast between integers wraps.
//
// An Error{Limit} names kernel, statement, block, lane (the work-item) and address of:
//   - an access out of bounds, or less aligned than the target or the node asks for;
//   - a read of Local or Register memory, or of a buffer the kernel writes, that nothing wrote;
//   - two work-items touching an element, one of them writing, with no barrier between them, or
//   with
//     an asynchronous copy that was not waited for; two blocks likewise in global memory, unless a
//     ticket orders them;
//   - a count that is not back at 0 at the end;
//   - an element of a Global buffer written twice, written though it must be left alone, or never;
//   - local memory touched before the mbarrier of a tensor copy has let the work-item pass, or
//   copied over before it is known to have been read; registers touched before the wait for their
//   wgmma;
//   - mbarriers that nobody completes;
//   - a barrier or warp operation that only part of its work-items reach;
//   - global memory touched before the kernels launched earlier are awaited;
//   - an integer division by zero;
//   - more Local memory, work-items or registers than the target has.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernel/bank_phases.h"
#include "kernel/counts.h"
#include "kernel/nodes.h"
#include "target/target.h"

namespace tilefuse::kernel {

// The elements that the grid must write, each once; all others it must leave alone.
struct ExpectedWrites {
  std::size_t argument = 0;
  std::vector<bool> elements; // of the whole buffer
};

struct SimulationOptions {
  // None: warps of 32, 32 banks, sectors of 32 bytes, and no limits.
  std::optional<Target> target = std::nullopt;
  // Blocks to run; empty: all. Elements that are never written are looked for only if all run.
  std::vector<std::int64_t> blocks = {};
  // 0: in their order, else in one that this number says.
  std::uint32_t shuffle = 0;
  std::vector<ExpectedWrites> writes = {};
  // Arguments that the kernel writes and whose first contents it may read and write again.
  std::vector<std::size_t> updated = {};
  bool count = true;          // false: Counts stay empty, which is faster
  BankTrace *banks = nullptr; // filled where it is given and accesses are counted
};

// `args` are the Global buffers but counts in order, each at least its buffer's size (else
// Error{Shape}).
Counts simulate(const Kernel &kernel, std::span<const std::span<std::byte>> args,
                const SimulationOptions &options = {});

} // namespace tilefuse::kernel
