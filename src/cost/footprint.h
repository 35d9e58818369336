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
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::cost {

using Spans = std::vector<double>; // points, by index of the nest

struct Stream {
  std::vector<nest::Dim> dims;
  double elem_bytes = 4;
  double line_bytes = 64; // the smallest piece of memory that moves
  bool is_written = false;
  bool is_staged = false;
  std::int64_t packed_step = 0; // packed constants: points of the lane index that lie together
  int packed_lane = -1;

  bool uses(std::size_t index) const;
  // Elements between neighbours of `index`.
  std::int64_t stride(std::size_t index) const;
  // Bytes of the lines that a piece touches.
  double bytes(const Spans &spans) const { return piece(spans).run * piece(spans).repeats; }
  // Bytes of memory without gaps that a piece consists of, and how often it does.
  struct Piece {
    double run = 0;
    double repeats = 1;
    double apart = 0; // bytes from one run to the next, where there are several
    double row = 1;   // of them, so far apart
  };
  Piece piece(const Spans &spans) const;
  // How much more of a cache whose ways have `way_bytes` a piece takes than its bytes: runs that
  // lie a power of two apart share few of its sets.
  double crowding(const Spans &spans, double way_bytes) const;
  // How much dearer than as a stream a piece comes from a cache: runs that lie a multiple of its
  // banks apart begin in the same one, and wait the longer the more of them lie in a row.
  double bank_conflict(const Spans &spans) const;
};

// Inputs in order, then extras, then the result.
std::vector<Stream> streams(const nest::Nest &nest, const schedule::Schedule &schedule);
// An input where it lies in memory, before it is staged.
Stream source(const nest::Nest &nest, const schedule::Schedule &schedule, int input);

// Bytes of the lines that the whole nest touches, of operands as they lie before they are staged.
double bytes_in_memory(const nest::Nest &nest, const schedule::Schedule &schedule,
                       const std::vector<Stream> &streams);

// Bytes of the sectors of memory that the whole nest touches of an operand as it lies: of an image
// read or written with a stride, a part.
double touched_bytes(const nest::Nest &nest, const nest::Operand &operand);
// Of all slots, each as the operand that touches most of it does.
double touched_bytes(const nest::Nest &nest);

// Of the lines that one straight piece of code reads, copies and unrolled taps, the most that fall
// into one set of a cache whose ways have `way_bytes`. `outputs` indices of the nest are outputs.
std::int64_t lines_in_a_set(const Stream &stream, const schedule::Schedule &schedule, int outputs,
                            std::int64_t way_bytes);

struct LoopTrips {
  std::size_t index = 0;
  double trips = 1;
};

struct Cache {
  double bytes = 0;     // that a working set can keep
  double way_bytes = 0; // 0: any line goes anywhere
};

// Bytes by stream that the loops (innermost first) around a piece of `spans` bring into a cache.
std::vector<double> traffic(const std::vector<Stream> &streams, Spans spans,
                            const std::vector<LoopTrips> &loops, const Cache &cache);

} // namespace tilefuse::cost
