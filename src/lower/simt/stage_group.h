// SPDX-License-Identifier: Apache-2.0
// Staging tiles that are copied by all work-items of a block.
#pragma once

#include <vector>

#include "lower/simt/stage_source.h"

namespace tilefuse::lower {

// What a work-item's accesses depend on besides the tile's position: per round the offsets in
// memory and in the buffer, and by dimension the subscript in the tile where it is checked.
struct GroupOffsets {
  struct Round {
    std::vector<ExprRef> from; // by stream
    ExprRef to{};
    std::vector<ExprRef> steps;
  };
  std::vector<Round> rounds; // empty: copied in a loop, which works them out
};

class GroupFill {
public:
  GroupFill(const Context &cx, int input, const GroupOffsets &offsets);
  // Works out the offsets of rounds that are written out: where they are held, once, where the
  // statements given back stand.
  static StmtRef declare(const Context &cx, int input, GroupOffsets &offsets);
  StmtRef copy() const;
  StmtRef copy_asynchronously() const;
  // Registers by stream hold what was read, so that nothing waits for it before it is put.
  std::vector<BufferId> declare_registers() const;
  StmtRef fetch(const std::vector<BufferId> &registers) const;
  StmtRef put(const std::vector<BufferId> &registers) const;

private:
  struct Place {
    std::vector<ExprRef> from; // by stream
    ExprRef to{};
    ExprRef valid{}; // elements that exist, null: all
    ExprRef owned{}; // whether they are stored in memory too, null: yes
  };
  GroupOffsets::Round offsets_at(ExprRef position) const;
  Place place(const GroupOffsets::Round &offsets) const;
  std::int64_t round_count() const;
  ExprRef position(ExprRef round) const;
  StmtRef store(const Place &place, ExprRef value) const;
  // The by-product of a value that is staged; null where there is none.
  StmtRef store_owned(const Place &place, ExprRef value) const;
  template <typename Body> StmtRef rounds(const Body &body) const;

  StageSource s_;
  kernel::Builder &b_;
  int width_ = 1; // elements of one access
  std::int64_t accesses_ = 0;
  ExprRef buffer_base_; // of the buffer that is filled
  const GroupOffsets &offsets_;
};

} // namespace tilefuse::lower
