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
    std::vector<kernel::ExprRef> from; // by stream
    kernel::ExprRef to{};
    std::vector<kernel::ExprRef> steps;
  };
  std::vector<Round> rounds; // empty: copied in a loop, which works them out
};

class GroupFill {
public:
  GroupFill(const Context &cx, int input, const GroupOffsets &offsets);
  // Works out the offsets of rounds that are written out: where they are held, once, where the
  // statements given back stand.
  static kernel::StmtRef declare(const Context &cx, int input, GroupOffsets &offsets);
  kernel::StmtRef copy() const;
  kernel::StmtRef copy_asynchronously() const;
  // Registers by stream hold what was read, so that nothing waits for it before it is put.
  std::vector<kernel::BufferId> declare_registers() const;
  kernel::StmtRef fetch(const std::vector<kernel::BufferId> &registers) const;
  kernel::StmtRef put(const std::vector<kernel::BufferId> &registers) const;

private:
  struct Place {
    std::vector<kernel::ExprRef> from; // by stream
    kernel::ExprRef to{};
    kernel::ExprRef valid{}; // elements that exist, null: all
    kernel::ExprRef owned{}; // whether they are stored in memory too, null: yes
  };
  GroupOffsets::Round offsets_at(kernel::ExprRef position) const;
  Place place(const GroupOffsets::Round &offsets) const;
  std::int64_t round_count() const;
  kernel::ExprRef position(kernel::ExprRef round) const;
  kernel::StmtRef store(const Place &place, kernel::ExprRef value) const;
  // The by-product of a value that is staged; null where there is none.
  kernel::StmtRef store_owned(const Place &place, kernel::ExprRef value) const;
  template <typename Body> kernel::StmtRef rounds(const Body &body) const;

  StageSource s_;
  kernel::Builder &b_;
  int width_ = 1; // elements of one access
  std::int64_t accesses_ = 0;
  kernel::ExprRef buffer_base_; // of the buffer that is filled
  const GroupOffsets &offsets_;
};

} // namespace tilefuse::lower
