// SPDX-License-Identifier: Apache-2.0
#include "lower/launch/join_last.h"

#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "kernel/verify.h"
#include "lower/launch/side_by_side.h"

namespace tilefuse::lower {
namespace {

using namespace kernel;

class LastJoiner {
public:
  LastJoiner(const std::vector<SidePart> &parts, const schedule::TileWalk &walk)
      : parts_(parts), walk_(walk), build_(whole_) {}

  Kernel run() {
    const Kernel &partial = *parts_[0].kernel;
    whole_.name = partial.name + "__joined";
    whole_.blocks = partial.blocks;
    whole_.block_size = partial.block_size;
    whole_.flops = partial.flops + parts_[1].kernel->flops;
    copiers_ = declare_parts(build_, parts_, walk_.tiles());
    found_ = build_.buffer({.name = "found", .space = Space::Local, .elems = 1});
    const StmtRef first = copiers_[0].body(build_.block(), build_.lane());
    whole_.body = build_.block({first, take_apart(), arrive(), join()});
    verify(whole_, true);
    return std::move(whole_);
  }

private:
  ExprRef integer(std::int64_t value) { return build_.integer(value); }

  // The block's number as its digits: its tile's number, and where that lies in the join's grid.
  StmtRef take_apart() {
    tile_ = integer(0);
    firsts_.assign(walk_.grid.size(), integer(0));
    ExprRef rest = build_.block();
    std::int64_t weight = 1;
    for (const schedule::TileDigit &digit : walk_.digits) {
      const ExprRef value = build_.mod(rest, digit.count);
      rest = build_.div(rest, digit.count);
      if (!digit.index)
        continue;
      firsts_[*digit.index] = build_.mul(value, walk_.blocks[*digit.index]);
      tile_ = build_.add(tile_, build_.mul(value, weight));
      weight *= digit.count;
    }
    if (is_constant(tile_))
      return nullptr;
    const VarId tile = build_.variable("joined", {});
    const StmtRef let = build_.let(tile, tile_);
    tile_ = build_.var(tile);
    return let;
  }

  BufferId counts() const {
    std::size_t i = 0;
    while (!whole_.buffers[i].counts)
      ++i;
    return BufferId{static_cast<int>(i)};
  }

  StmtRef by_first(StmtRef body) {
    return build_.branch(build_.equal(build_.lane(), walk_.first_item), body);
  }

  // Warps of which one work-item starts copies come together first.
  StmtRef arrive() {
    const StmtRef warp = walk_.first_item > 0 ? build_.barrier({.items = kWarpItems}) : nullptr;
    const StmtRef ticket =
        by_first(build_.ticket({.to = {found_, integer(0)}, .counts = counts(), .index = tile_}));
    if (whole_.block_size == 1)
      return ticket;
    return build_.block({warp, build_.barrier(), ticket, build_.barrier()});
  }

  // The join's blocks of the tile, dealt to the work-items.
  StmtRef join() {
    const std::int64_t size = parts_[1].kernel->block_size;
    const std::int64_t blocks = std::accumulate(walk_.blocks.begin(), walk_.blocks.end(),
                                                std::int64_t{1}, std::multiplies<>());
    const VarId item = build_.variable("item", {});
    ExprRef rest = build_.div(build_.var(item), size);
    ExprRef number = integer(0);
    ExprRef is_inside = nullptr;
    std::int64_t weight = 1;
    for (const schedule::IndexId i : walk_.grid.ids().reversed()) {
      const ExprRef at = build_.add(firsts_[i], build_.mod(rest, walk_.blocks[i]));
      rest = build_.div(rest, walk_.blocks[i]);
      if (walk_.grid[i] % walk_.blocks[i] != 0)
        is_inside = build_.logical_and(is_inside, build_.less(at, walk_.grid[i]));
      number = build_.add(number, build_.mul(at, weight));
      weight *= walk_.grid[i];
    }
    StmtRef body = copiers_[1].body(number, build_.mod(build_.var(item), size));
    if (is_inside != nullptr)
      body = build_.branch(is_inside, body);
    const StmtRef all =
        build_.loop(item, ForKind::Serial, build_.sub(build_.lane(), walk_.first_item),
                    blocks * size, whole_.block_size - walk_.first_item, body);
    const ExprRef is_joining =
        walk_.first_item == 0
            ? nullptr
            : build_.scalar(ScalarOp::Le, {integer(walk_.first_item), build_.lane()});
    const ExprRef is_last = build_.equal(build_.load(found_, 0), walk_.parts() - 1);
    return build_.branch(is_last, build_.block({by_first(build_.store(counts(), tile_, 0)),
                                                build_.branch(is_joining, all)}));
  }

  const std::vector<SidePart> &parts_;
  const schedule::TileWalk &walk_;
  Kernel whole_;
  Builder build_;
  std::vector<PartCopier> copiers_;
  BufferId found_{};
  ExprRef tile_{};
  Indexed<schedule::IndexId, ExprRef>
      firsts_; // of the tile in the join's grid, by its output index
};

} // namespace

Kernel join_last(const std::vector<SidePart> &parts, const schedule::TileWalk &walk) {
  TILEFUSE_CHECK(parts.size() == 2 && can_be_dealt(*parts[1].kernel),
                 "a join that is not a kernel behind its parts'");
  return LastJoiner(parts, walk).run();
}

} // namespace tilefuse::lower
