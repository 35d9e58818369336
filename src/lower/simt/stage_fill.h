// SPDX-License-Identifier: Apache-2.0
// How one staging tile is copied: by the rows of its source, or by all work-items of a block.
#pragma once

#include "base/index.h"
#include "lower/context.h"
#include "schedule/ownership.h"
#include "schedule/staging.h"

namespace tilefuse::lower {

// A tensor that the elements of a tile are made from: the input itself, or what a pointwise
// producer reads. Element (d0, d1, …) of the tensor that is staged needs the one at base + sum of d
// * stride.
struct StageStream {
  kernel::BufferId from{-1};
  kernel::ExprRef base{};            // address of the step's first element
  std::int64_t offset = 0;           // constant part of it
  std::vector<std::int64_t> strides; // by dimension of the tile
};

// A tile and where it comes from at the current position.
struct StageSource {
  StageSource(const Context &cx, int number);

  std::size_t rank() const { return tile.dims.size(); }
  const nest::Dim &dim(std::size_t d) const { return source.dims[at(tile.dims[d].dim)]; }
  // Whether a subscript of dimension d of the tile lies in the tensor.
  kernel::ExprRef inside(std::size_t d, kernel::ExprRef subscript) const;
  // Neighbours along the tile's last dimension, from an address per stream: loaded, or what the
  // pointwise producer makes of them. `valid` of them exist, null: all.
  kernel::ExprRef value(const std::vector<kernel::ExprRef> &addresses, int lanes,
                        kernel::ExprRef valid) const;
  // The same in two parts: what is read of a stream, of type read_type(), and what it is made into.
  std::size_t read_streams() const { return streams.size() - (stored ? 1 : 0); }
  kernel::Type read_type(std::size_t stream, int lanes) const;
  kernel::ExprRef read(std::size_t stream, kernel::ExprRef address, int lanes,
                       kernel::ExprRef valid) const;
  kernel::ExprRef made(const std::vector<kernel::ExprRef> &values, int lanes,
                       kernel::ExprRef valid) const;
  // Whether this fill stores anything, and whether it stores element `step` of dimension d of the
  // tile; null: it does.
  kernel::ExprRef owns_any() const;
  kernel::ExprRef owns(std::size_t d, kernel::ExprRef step) const;
  // As it is written to memory: a value of the tile.
  kernel::ExprRef to_stored(kernel::ExprRef value) const;

  const Context &cx;
  int input;
  schedule::Source source;
  schedule::StageTile tile;
  kernel::BufferId to;
  double fill;
  DType type;                                // that the tile is held in
  const Context *map = nullptr;              // the pointwise producer, if there is one
  std::vector<StageStream> streams;          // of a map: by its extras
  std::optional<schedule::Ownership> stored; // where the map's result is written to memory, as the
                                             // last of the streams
  std::vector<kernel::ExprRef> first;        // by index: the first point that the tile serves
  std::vector<kernel::ExprRef> origins; // by dimension of the tile: the first subscript of its box

private:
  bool spreads(std::size_t stream, int lanes) const;
  void find_origins(int input);
  void stream_in_place(int input);
  void stream_map(int input, const Context &producer);
  StageStream stream_of(const nest::Operand &operand, const std::vector<int> &indices) const;
};

// The whole tile; `pads_only`: no more than what lies outside the tensor.
kernel::StmtRef fill_by_rows(const Context &cx, int input, bool pads_only = false);

// Of dimension d of a tile, `count` subscripts from `from` on, moved to its beginning.
kernel::StmtRef move_rows(const Context &cx, int input, std::size_t d, std::int64_t from,
                          std::int64_t count);

// What a work-item's accesses depend on besides the tile's position: per round the offsets in
// memory and in the buffer, and by dimension the subscript in the tile where it is checked.
struct GroupOffsets {
  struct Round {
    std::vector<kernel::ExprRef> from; // by stream
    kernel::ExprRef to{};
    std::vector<kernel::ExprRef> steps;
  };
  std::vector<Round> rounds; // empty: too many to hold, each is worked out where it is used
};

class GroupFill {
public:
  GroupFill(const Context &cx, int input, const GroupOffsets &offsets);
  // Works the offsets out: once, where the statements given back stand, if they fit the `registers`
  // that are left, which they are taken from; else where they are used.
  static kernel::StmtRef declare(const Context &cx, int input, std::int64_t &registers,
                                 GroupOffsets &offsets);
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
  int choose_width() const;
  GroupOffsets::Round offsets_at(kernel::ExprRef position) const;
  Place place(const GroupOffsets::Round &offsets) const;
  std::int64_t round_count() const;
  std::int64_t offset_count() const; // of a round
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
