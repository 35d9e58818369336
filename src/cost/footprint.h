// SPDX-License-Identifier: Apache-2.0
// Which bytes a piece of the loops touches, in whole cache lines, and what therefore passes between
// two levels of memory.
//
// A Stream is one operand as the loops read or write it: in place, staged, or packed. Spans say how
// many points of each index a piece covers. Traffic walks the loops around a register tile from the
// inside out: what a stream brought in is still there in the next round of a loop only while all
// that one round touches fits the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"

namespace tilefuse::cost {

using nest::IndexId;

using Spans = Indexed<IndexId, double>; // points

// Dimensions of an operand as loops walk them: a subscript that an input says may be any other one
// at each point of that input.
std::vector<nest::Dim> walked_dims(const nest::Nest &nest, const nest::Operand &operand);

class Stream {
public:
  // An index that moves a subscript.
  struct Term {
    IndexId index{};
    std::int64_t coeff = 0;
  };
  // A dimension of memory, and the terms of its subscript.
  struct Dim {
    std::int64_t size = 1;   // subscripts that there are
    std::int64_t stride = 1; // elements
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // Bytes of memory without gaps that a piece consists of, and how often it does.
  struct Piece {
    double run = 0;
    double repeats = 1;
    double apart = 0; // bytes from one run to the next, where there are several
    double row = 1;   // of them, so far apart
    double bytes() const { return run * repeats; }
  };

  Stream() = default;
  // Of `indices` indices of the nest.
  Stream(const std::vector<nest::Dim> &dims, std::size_t indices, double element_bytes);

  double elem_bytes = 4;
  double line_bytes = 64; // the smallest piece of memory that moves
  bool is_written = false;
  bool is_staged = false;
  std::int64_t packed_step = 0; // packed constants: points of the lane index that lie together
  std::optional<IndexId> packed_lane;

  const std::vector<Dim> &dims() const { return dims_; } // by rising stride
  std::span<const Term> terms(const Dim &dim) const {
    return std::span(terms_).subspan(dim.begin, dim.end - dim.begin);
  }
  bool uses(IndexId index) const { return moves_[index].is_used; }
  // Elements between neighbours of `index`.
  std::int64_t stride(IndexId index) const {
    const bool is_packed = packed_step > 0 && index == packed_lane;
    return is_packed ? (uses(index) ? 1 : 0) : moves_[index].stride;
  }
  Piece piece(const Spans &spans) const;
  // Bytes of the lines that a piece touches.
  double bytes(const Spans &spans) const { return piece(spans).bytes(); }
  // How much more of a cache whose ways have `way_bytes` a piece takes than its bytes: runs that
  // lie a power of two apart share few of its sets. `piece` is that of the spans.
  double crowding(const Spans &spans, const Piece &piece, double way_bytes) const;

private:
  struct Move {
    std::int64_t stride = 0; // elements
    bool is_used = false;
  };
  std::vector<Dim> dims_;
  std::vector<Term> terms_;
  Indexed<IndexId, Move> moves_;
};

// How much dearer than as a stream a piece comes from a cache: runs that lie a multiple of its
// banks apart begin in the same one, and wait the longer the more of them lie in a row.
double bank_conflict(const Stream::Piece &piece);

// Inputs in order, then extras, then the result.
std::vector<Stream> streams(const nest::Nest &nest, const schedule::Schedule &schedule);
// An input where it lies in memory, before it is staged.
Stream source(const nest::Nest &nest, const schedule::Schedule &schedule, int input);
// The same of all streams that are staged; nothing for others.
std::vector<Stream> sources(const nest::Nest &nest, const schedule::Schedule &schedule,
                            const std::vector<Stream> &streams);

// Bytes of the lines that the whole nest touches, of operands as they lie before they are staged.
double bytes_in_memory(const nest::Nest &nest, const std::vector<Stream> &streams,
                       const std::vector<Stream> &sources);

// Bytes of the sectors of memory that the whole nest touches of an operand as it lies: of an image
// read or written with a stride, a part.
double touched_bytes(const nest::Nest &nest, const nest::Operand &operand);
// Of all slots, each as the operand that touches most of it does.
double touched_bytes(const nest::Nest &nest);
// Of a group's slots that lie in memory, each as the operand of any member does: by slot, and in all.
std::map<poly::SlotId, double> touched_by_slot(const poly::Group &group);
double touched_bytes(const poly::Group &group);

// Of the lines that one straight piece of code reads, copies and unrolled taps, the most that fall
// into one set of a cache whose ways have `way_bytes`. `outputs` indices of the nest are outputs.
std::int64_t lines_in_a_set(const Stream &stream, const schedule::Schedule &schedule, int outputs,
                            std::int64_t way_bytes);

struct LoopTrips {
  IndexId index{};
  double trips = 1;
};

struct Cache {
  double bytes = 0;     // that a working set can keep
  double way_bytes = 0; // 0: any line goes anywhere
};

// Bytes by stream that the loops (innermost first) around a piece of `spans` bring into a cache.
class Traffic {
public:
  // Keeps a reference to `streams`.
  Traffic(const std::vector<Stream> &streams, Spans spans, const Cache &cache);

  // Further loops, outside those that were added before.
  void add(const std::vector<LoopTrips> &loops);
  const std::vector<double> &moved() const { return moved_; }

private:
  void add(const LoopTrips &loop);
  double crowded(std::size_t k) const;

  const std::vector<Stream> &streams_;
  Spans spans_;
  Cache cache_;
  std::vector<Stream::Piece> touched_;
  std::vector<double> moved_;
  std::vector<bool> fits_; // what the last loop found in the cache
};

std::vector<double> traffic(const std::vector<Stream> &streams, const Spans &spans,
                            const std::vector<LoopTrips> &loops, const Cache &cache);

} // namespace tilefuse::cost
