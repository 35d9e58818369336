// SPDX-License-Identifier: Apache-2.0
// The buffers of local memory that a block of a group's kernel has, from group and schedule alone:
// lowering declares these and no others, legality adds them up, and a launch of several kernels
// (launch/launch.h) lets kernels share those that are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poly/group.h"
#include "schedule/mma/core.h"
#include "schedule/schedule.h"
#include "target/dtype.h"
#include "target/target.h"

namespace tilefuse::schedule {

// What a buffer is for: tiles of an input (Stage; with a matrix instruction Data and Filter, the
// buffers of the ring or of windows), results on their way through a warp (Exchange) or to memory
// (Boxes), what post-ops read (Operand), sums of parts of a product's depth that blocks of a
// cluster take or warps that share rows (Parts), results that are turned (Results), sums of what
// tiles store (Sums), what the lanes of a reduced index accumulated (Lanes), sums of a matrix
// unit's rows (Rows), and the mbarriers of the ring, of windows, of operands and of parts.
enum class LocalUse {
  Stage,
  Data,
  Filter,
  Exchange,
  Boxes,
  Operand,
  Parts,
  Results,
  Sums,
  Lanes,
  Rows,
  RingBarriers,
  WindowBarriers,
  OperandBarriers,
  PartBarriers
};

struct LocalBuffer {
  LocalUse use = LocalUse::Stage;
  int number = 0; // Stage: the input; Data, Filter: 0, or the number of an extra operand that a map
                  // in the ring reads besides (CoreFeed::copied); Operand: the extra operand; Sums:
                  // which of the group's
  std::string name = {};
  DType type = DType::F32;
  std::int64_t elems = 0;
  std::int64_t bytes() const { return elems * size_bytes(type); }
  // Buffers of two kernels that both can have in one place.
  bool is_like(const LocalBuffer &other) const { return name == other.name && type == other.type; }
  friend bool operator==(const LocalBuffer &, const LocalBuffer &) = default;
};

// Of a nest alone, with nothing fed to it.
std::vector<LocalBuffer> local_buffers(const Gemm &gemm);
std::vector<LocalBuffer> local_buffers(const nest::Nest &nest, const Schedule &schedule);
// Of a member of a group, `nest` its tile nest (schedule/members.h). None of a producer that is a
// map: its consumer's buffers hold what it makes.
std::vector<LocalBuffer> local_buffers(const poly::Group &group, const Schedule &schedule,
                                       poly::MemberId member, const nest::Nest &nest);

// Bytes that a block needs for them. The mbarriers of a ring stand for what aligning the buffers
// behind them takes, which is more than they do.
std::int64_t local_bytes(const std::vector<LocalBuffer> &buffers);
// Why the target has too little local memory for them; nothing where it has enough.
std::optional<std::string> wrong_local_memory(const std::vector<LocalBuffer> &buffers,
                                              const Target &target);
// Bytes of the buffers that tiles of inputs pass through: the ring, windows, and what maps read
// besides.
std::int64_t ring_bytes(const std::vector<LocalBuffer> &buffers);

} // namespace tilefuse::schedule
