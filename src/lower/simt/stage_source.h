// SPDX-License-Identifier: Apache-2.0
// Where the elements of a staging tile come from.
#pragma once

#include <optional>
#include <vector>

#include "base/index.h"
#include "lower/context.h"
#include "schedule/ownership.h"
#include "schedule/staging.h"

namespace tilefuse::lower {

// A tensor that the elements of a tile are made from: the input itself, or what a pointwise
// producer reads. Element (d0, d1, …) of the tensor that is staged needs the one at
// base + sum of d * stride.
struct StageStream {
  BufferId from{-1};
  ExprRef base{};                    // address of the step's first element
  std::vector<std::int64_t> strides; // by dimension of the tile
};

// A tile and where it comes from at the current position.
struct StageSource {
  StageSource(const Context &cx, int number);

  std::size_t rank() const { return tile.dims.size(); }
  const nest::Dim &dim(std::size_t d) const { return source.dims[at(tile.dims[d].dim)]; }
  // Whether a subscript of dimension d of the tile lies in the tensor.
  ExprRef inside(std::size_t d, ExprRef subscript) const;
  // Values of `lanes` neighbours along the tile's last dimension, from an address per stream:
  // loaded, or what the pointwise producer makes of them. `valid` of them exist, null: all.
  ExprRef value(const std::vector<ExprRef> &addresses, int lanes, ExprRef valid) const;
  // value() as two steps, so that loads of several values can be in flight: read() loads from one
  // stream, in its read_type(); made() computes the value from what was read of all read_streams().
  std::size_t read_streams() const { return streams.size() - (stored ? 1 : 0); }
  kernel::Type read_type(std::size_t stream, int lanes) const;
  ExprRef read(std::size_t stream, ExprRef address, int lanes, ExprRef valid) const;
  ExprRef made(const std::vector<ExprRef> &values, int lanes, ExprRef valid) const;
  // The value of vectors that were read of all read_streams(), each in the type that is computed
  // with.
  ExprRef of_vectors(const std::vector<ExprRef> &values) const;
  // Whether this fill stores anything, and whether it stores element `step` of dimension d of the
  // tile; null: it does.
  ExprRef owns_any() const;
  ExprRef owns(std::size_t d, ExprRef step) const;
  // A value of the tile, converted to the type in which the map's result is written to memory.
  ExprRef to_stored(ExprRef value) const;

  const Context &cx;
  int input;
  schedule::Source source;
  schedule::StageTile tile;
  BufferId to;
  double fill;
  DType type;                                // that the tile is held in
  const Context *map = nullptr;              // the pointwise producer, if there is one
  std::vector<StageStream> streams;          // of a map: by its extras
  std::optional<schedule::Ownership> stored; // where the map's result is written to memory, as the
                                             // last of the streams
  Positions first;                           // by index: the first point that the tile serves
  std::vector<ExprRef> origins; // by dimension of the tile: the first subscript of its box

private:
  bool spreads(std::size_t stream, int lanes) const;
  void find_origins(int input);
  void stream_in_place(int input);
  void stream_map(int input, const Context &producer);
  StageStream stream_of(const nest::Operand &operand,
                        const std::vector<std::optional<IndexId>> &indices) const;
};

} // namespace tilefuse::lower
