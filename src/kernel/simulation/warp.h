// SPDX-License-Identifier: Apache-2.0
// One warp: a program counter, a mask of active work-items, cells of its own, and its asynchronous
// copies and multiplications.
//
// A cluster of blocks runs its agents in turn (kernel/simulate.cpp, Simulation::run_warps): each
// goes on until it waits or ends, then the simulation sees whether what it came to lets those who
// wait there go on, and wakes them; those who wait for an mbarrier look again. When nobody moves,
// the engine (kernel/simulation/engine.h) completes a copy. When all have ended the cluster is
// done; when none can go on, those who wait are stuck, which is a fault that names one who is
// missing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "kernel/simulation/clocks.h"
#include "kernel/simulation/engine.h"
#include "kernel/simulation/global_buffer.h"
#include "kernel/simulation/local_buffer.h"
#include "kernel/simulation/program.h"
#include "kernel/simulation/recorder.h"

namespace tilefuse::kernel::simulation {

// Memory of a block, by BufferId, null for other buffers.
using LocalBuffers = std::vector<std::unique_ptr<LocalBuffer>>;

// What all warps share.
struct Machine {
  const Kernel &kernel;
  const Program &program;
  Position &position;
  Clocks &clocks;
  Engine &engine;
  std::vector<LocalBuffers> local;                   // by rank in the cluster
  std::vector<std::unique_ptr<GlobalBuffer>> global; // by BufferId, null for others
  Recorder *recorder = nullptr;                      // null: nothing is counted
  std::int64_t vector_align = 1;
};

using Mask = std::uint64_t; // bit per work-item of the warp

class Warp {
public:
  enum class State { Running, Waiting, Polling, Ended }; // Polling: for an mbarrier

  // The warp of work-items from number * width on of the cluster's block of a rank; `agent` is its
  // number in Clocks.
  Warp(Machine &machine, std::size_t rank, std::size_t number, std::size_t agent);

  void start_block(std::int64_t block);
  // Until it waits or ends.
  void run();
  void wake();
  // Looks again whether its mbarrier has passed, and goes on if so; false: it has not.
  bool retry();

  State state() const { return state_; }
  // Where it waits.
  const Barrier &barrier() const;
  StmtRef line() const;
  // What its mbarrier lacks.
  std::string missing() const;
  int counter() const { return counter_; }
  std::size_t agent() const { return agent_; }
  std::int64_t block() const { return block_; }
  int items() const { return items_; }
  std::int32_t first_item() const { return first_item_; }

private:
  struct Frame {
    Mask outer = 0;
    Mask taken = 0; // an If's condition
  };
  struct Copy {
    BufferId to{};
    std::int64_t index = 0;
    Cell value{};
    int lane = 0;
    std::int64_t group = 0;
  };
  // A wgmma that was not waited for.
  struct Started {
    const Wgmma *node = nullptr;
    StmtRef stmt = nullptr;
    std::int64_t group = 0;
    std::int64_t number = 0; // of the first accumulator
    LocalPlace a, b;
    std::int64_t fragment = 0; // its first value, where registers hold a
    bool accumulates = true;
  };

  // How an operand of a wgmma lies: see Wgmma.
  struct Laid {
    const LocalPlace &at;
    int row_bytes = 128;
    std::int64_t panel = 0;
    std::int64_t lines = 0;
    // Byte of an element of `size` bytes from the operand's start, before the swizzle.
    std::int64_t byte_of(std::int64_t row, std::int64_t k, std::int64_t size) const;
  };

  // A tensor store that was not waited for.
  struct BoxStore {
    StmtRef stmt = nullptr;
    LocalBuffer *from = nullptr;
    GlobalBuffer *to = nullptr;
    struct Element {
      std::int64_t from = 0, to = 0;
      Cell value{};
    };
    std::vector<Element> elements;
    int lane = 0;
    std::int64_t group = 0;
  };

  const Op &current() const { return machine_.program.ops[at(counter_)]; }
  Cell *cells(Slot slot) { return cells_.data() + slot; }
  const Cell *read(Slot slot) const {
    return slot >= 0 ? cells_.data() + slot
                     : machine_.program.constants.data() + static_cast<std::size_t>(~slot);
  }
  Agent agent(int lane) const { return {first_item_ + lane, static_cast<std::uint32_t>(agent_)}; }
  LocalBuffer *local_buffer(int buffer) const { return machine_.local[rank_][at(buffer)].get(); }
  template <class Body> void for_active(const Body &body) const {
    for (Mask left = mask_; left != 0; left &= left - 1)
      body(__builtin_ctzll(left));
  }
  [[noreturn]] void fault(std::string_view what, int lane);
  void need_whole_warp(std::string_view what);
  void need_warp_of_32(std::string_view what);
  void need_awaited(int buffer);

  void step(const Op &op);
  void arithmetic(const Op &op);
  void control(const Op &op);
  void check_divisors(const Op &op);
  void check_register(const Op &op);
  void load_register(const Op &op);
  void store_register(const Op &op);
  std::int64_t register_index(const Op &op, Slot index, int lane);

  // Addresses of one access by the active work-items, for checks and counts.
  void gather(const Cell *first, const Cell *valid, int lanes);
  void check_aligned(std::int64_t bytes, DType elem, int buffer);
  void check_vector(const Op &op);
  LocalBuffer *read_buffer(const Op &op, int lane);
  void load(const Op &op);
  void store(const Op &op);

  // What an expression of the intrinsic of an operation was computed to, by work-item.
  const Cell *operand(const Op &op, ExprRef expr) const;
  std::int64_t operand(const Op &op, ExprRef expr, int lane) const {
    return operand(op, expr)[lane].whole;
  }
  void execute(const Transpose &node, const Op &op);
  void execute(const Shuffle &node, const Op &op);
  void execute(const LoadMatrix &node, const Op &op);
  void execute(const Mma &node, const Op &op);
  void execute(const AsyncCopy &node, const Op &op);
  void execute(const AsyncCommit &, const Op &);
  void execute(const AsyncWait &node, const Op &);
  void execute(const Ticket &node, const Op &op);
  void execute(const Mbarrier &node, const Op &op);
  void execute(const TensorCopy &node, const Op &op);
  void execute(const TensorStore &node, const Op &op);
  void execute(const StoreSync &node, const Op &);
  void execute(const Wgmma &node, const Op &op);
  void execute(const WgmmaSync &node, const Op &);
  void execute(const RegisterLimit &, const Op &) {}
  void execute(const AwaitEarlier &, const Op &) { awaited_ |= mask_; }
  void execute(const RowsZero &node, const Op &op);
  void execute(const RowsLoad &node, const Op &op);
  void execute(const RowsStore &node, const Op &op);
  void execute(const RowsDot &node, const Op &op);
  Cell *register_rows(const Op &op, const RegisterRef &ref);
  Cell *read_rows(const Op &op, const RegisterRef &ref);
  Cell *written_rows(const Op &op, const RegisterRef &ref);
  std::int64_t fragment_index(const Op &op, const RegisterRef &ref, std::int64_t values);
  void read_fragment(const RegisterRef &ref, std::int64_t number, const Fragment &fragment,
                     std::vector<Cell> &matrix);
  LocalPlace local_place(const Op &op, const LocalRef &ref, int lane) const;
  LocalPlace arrived(const Mbarrier &node, const Op &op, int lane);
  std::vector<std::int64_t> ranks_of(const TensorCopy &node, const Op &op, int lane);
  void read_operand(const Wgmma &node, const Laid &laid, int first, int rows,
                    std::vector<Cell> &matrix);
  void read_operands(const Started &started);
  void record_operand(int access, const CoreOp &op, const Laid &laid, int first, int rows);
  void record_operands(const Started &started, int access);
  void check_accumulators(const Started &started);
  void mark_in_flight(const Started &started, bool is_started);
  void check_in_flight(const Op &op, std::int64_t value);
  void check_multiplied(const Op &op, std::int64_t value);
  void finish_store(const BoxStore &store);
  void check_stores_ended();
  void finish_wgmma(const Started &started);

  Machine &machine_;
  std::size_t rank_;
  std::size_t number_;
  std::size_t agent_;
  std::int64_t block_ = 0;
  int width_;
  int items_; // of this warp: fewer than the width in a block's last
  std::int32_t first_item_;
  Mask all_;

  State state_ = State::Running;
  int counter_ = 0;
  std::int64_t passed_ = 0; // waits for mbarriers
  Mask mask_ = 0;
  Mask awaited_ = 0; // work-items that have awaited the kernels launched earlier
  std::vector<Frame> frames_;
  std::vector<Cell> cells_;
  std::vector<Mask> written_;       // by register value: work-items that wrote it
  std::vector<std::int64_t> first_; // gathered, by work-item
  std::vector<int> count_;
  std::vector<Copy> copies_;         // under way
  std::vector<std::int64_t> groups_; // by work-item: groups committed
  std::vector<Cell> matrix_a_, matrix_b_, matrix_d_;
  std::vector<Started> started_;
  std::vector<BoxStore> stores_;
  std::vector<std::int64_t> store_groups_; // by work-item: groups committed
  std::int64_t wgmma_groups_ = 0;          // committed
  std::vector<std::int16_t> in_flight_;    // by register value: wgmmas that accumulate into it
  std::vector<std::int16_t> multiplied_;   // likewise: that multiply by it
};

// The 10 bits of mantissa that tf32 operands are read with.
void truncate_tf32(std::vector<Cell> &matrix);

} // namespace tilefuse::kernel::simulation
