// SPDX-License-Identifier: Apache-2.0
#include "cost/footprint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::cost {
namespace {

using nest::Nest;
using nest::Operand;
using schedule::Fill;
using schedule::Schedule;

constexpr std::int64_t kBanksBytes = 512; // a line of each bank of a cache
constexpr double kBankWaitBytes = 256;    // that a cache could bring while one wait lasts
constexpr double kRunsOfAWait = 5;        // side by side, that begin in one bank
constexpr double kMostBankWaits = 4;

double held_bytes(const Nest &nest, const Schedule &schedule, int input) {
  const bool is_staged = schedule::is_staged(schedule.fills[at(input)]);
  return static_cast<double>(size_bytes(is_staged ? held_type(nest, schedule, input)
                                                  : packed_type(nest, schedule, input)));
}

Stream in_place(const Nest &nest, const Operand &operand) {
  const double bytes = static_cast<double>(size_bytes(type_of(nest, operand)));
  const bool is_plain = std::none_of(operand.dims.begin(), operand.dims.end(),
                                     [](const nest::Dim &dim) { return dim.by.has_value(); });
  if (is_plain)
    return {operand.dims, nest.indices.size(), bytes};
  return {walked_dims(nest, operand), nest.indices.size(), bytes};
}

Stream staged(const Nest &nest, const Schedule &schedule, int input) {
  std::vector<nest::Dim> dims;
  schedule::Source source = source_of(nest, schedule, input);
  for (const schedule::StageDim &stage : stage_tile(nest, schedule, input).dims) {
    dims.push_back(std::move(source.dims[at(stage.dim)]));
    dims.back().stride = stage.stride;
    dims.back().size = stage.range;
  }
  Stream stream(dims, nest.indices.size(), held_bytes(nest, schedule, input));
  stream.is_staged = true;
  return stream;
}

// All that a piece reads lies together: steps of the lane index, then reduced indices.
Stream packed(const Nest &nest, const Schedule &schedule, int input) {
  Stream stream = in_place(nest, nest.inputs[at(input)]);
  stream.packed_lane = lane_index(schedule);
  stream.packed_step = 1;
  if (stream.packed_lane)
    stream.packed_step = schedule.splits[*stream.packed_lane].step();
  return stream;
}

// What an operand of the nest touches, where that is more than what is known of its slot.
template <typename BytesOf> void raise_to_touched(const Nest &nest, const BytesOf &bytes_of) {
  const auto add = [&](const Operand &operand) {
    double &bytes = bytes_of(operand.slot);
    bytes = std::max(bytes, touched_bytes(nest, operand));
  };
  std::for_each(nest.inputs.begin(), nest.inputs.end(), add);
  std::for_each(nest.extras.begin(), nest.extras.end(), add);
  add(nest.out);
}

} // namespace

std::vector<nest::Dim> walked_dims(const Nest &nest, const Operand &operand) {
  std::vector<nest::Dim> dims = operand.dims;
  for (nest::Dim &dim : dims)
    if (dim.by)
      for (const IndexId i : nest.indices.ids())
        dim.at.coeff[i] = moves(nest.inputs[at(*dim.by)], i) ? dim.size : 0;
  return dims;
}

Stream::Stream(const std::vector<nest::Dim> &dims, std::size_t indices, double element_bytes)
    : elem_bytes(element_bytes), moves_(indices) {
  dims_.reserve(dims.size());
  terms_.reserve(dims.size() + indices);
  for (const nest::Dim &dim : dims) {
    const std::size_t begin = terms_.size();
    for (const IndexId i : dim.at.coeff.ids())
      if (const std::int64_t coeff = dim.at.coeff[i]; coeff != 0) {
        terms_.push_back({i, coeff});
        moves_[i].stride += coeff * dim.stride;
        moves_[i].is_used = true;
      }
    dims_.push_back({dim.size, dim.stride, begin, terms_.size()});
  }
  std::sort(dims_.begin(), dims_.end(),
            [](const Dim &a, const Dim &b) { return std::llabs(a.stride) < std::llabs(b.stride); });
}

// Dimensions by rising stride: while the next one continues the run of memory that is touched so
// far, or leaves gaps shorter than a line, the run grows; every other dimension repeats it.
Stream::Piece Stream::piece(const Spans &spans) const {
  const double line = line_bytes / elem_bytes;
  double run = 1;
  double repeats = 1;
  double apart = 0;
  double row = 1;
  if (packed_step > 0) {
    for (const IndexId i : spans.ids())
      run *= uses(i) ? spans[i] : 1;
    return {std::ceil(run / line) * line_bytes, 1, 0, 1};
  }
  for (const Dim &dim : dims_) {
    double range = 1;
    double points = 1;
    for (const Term &term : terms(dim)) {
      range += static_cast<double>(std::llabs(term.coeff)) * (spans[term.index] - 1);
      points *= spans[term.index];
    }
    const double size = static_cast<double>(dim.size);
    const double stride = static_cast<double>(std::llabs(dim.stride));
    if (points > 1 && repeats == 1 && stride <= std::max(run, line))
      run += stride * (std::min(range, size) - 1);
    else if (const double times = std::min({range, points, size}); times > 1) {
      apart = repeats == 1 ? stride * elem_bytes : apart;
      row = repeats == 1 ? times : row;
      repeats *= times;
    }
  }
  return {std::ceil(run / line) * line_bytes, repeats, apart, row};
}

double Stream::crowding(const Spans &spans, const Piece &all, double way_bytes) const {
  if (packed_step > 0 || way_bytes <= 0)
    return 1;
  const double way_lines = std::max(1.0, way_bytes / line_bytes);
  const auto way = static_cast<std::int64_t>(way_bytes);
  double usable = all.repeats > 1 ? 1 : way_lines;
  for (const Dim &dim : dims_) {
    double points = 1;
    for (const Term &term : terms(dim))
      points *= spans[term.index];
    const auto apart =
        static_cast<std::int64_t>(static_cast<double>(std::llabs(dim.stride)) * elem_bytes);
    if (points <= 1 || static_cast<double>(apart) < all.run)
      continue;
    const double sets = static_cast<double>(way / std::gcd(way, apart));
    usable = std::max(usable, sets * std::max(1.0, all.run / line_bytes));
  }
  return way_lines / std::min(usable, way_lines);
}

double bank_conflict(const Stream::Piece &piece) {
  const bool is_in_step = static_cast<std::int64_t>(piece.apart) % kBanksBytes == 0;
  const double waits = std::min(kMostBankWaits, (piece.row - 1) / kRunsOfAWait);
  return piece.repeats > 1 && is_in_step ? 1 + waits * kBankWaitBytes / piece.run : 1;
}

std::vector<Stream> streams(const Nest &nest, const Schedule &schedule) {
  std::vector<Stream> all;
  all.reserve(nest.inputs.size() + nest.extras.size() + 1);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    const int input = static_cast<int>(k);
    if (schedule.fills[k] == Fill::Direct) {
      all.push_back(in_place(nest, nest.inputs[k]));
      continue;
    }
    const bool is_local = is_staged(schedule.fills[k]);
    all.push_back(is_local ? staged(nest, schedule, input) : packed(nest, schedule, input));
    all.back().elem_bytes = held_bytes(nest, schedule, input);
  }
  for (const Operand &extra : nest.extras)
    all.push_back(in_place(nest, extra));
  all.push_back(in_place(nest, nest.out));
  all.back().is_written = true;
  return all;
}

Stream source(const Nest &nest, const Schedule &schedule, int input) {
  const std::size_t k = static_cast<std::size_t>(input);
  return is_packed(schedule.fills[k]) ? packed(nest, schedule, input)
                                      : in_place(nest, nest.inputs[k]);
}

std::vector<Stream> sources(const Nest &nest, const Schedule &schedule,
                            const std::vector<Stream> &streams) {
  std::vector<Stream> all(streams.size());
  for (std::size_t k = 0; k < streams.size(); ++k)
    if (streams[k].is_staged)
      all[k] = source(nest, schedule, static_cast<int>(k));
  return all;
}

double bytes_in_memory(const Nest &nest, const std::vector<Stream> &streams,
                       const std::vector<Stream> &sources) {
  Spans all;
  all.reserve(nest.indices.size());
  for (const nest::Index &index : nest.indices)
    all.push_back(static_cast<double>(index.extent));
  double bytes = 0;
  for (std::size_t k = 0; k < streams.size(); ++k)
    bytes += (streams[k].is_staged ? sources : streams)[k].bytes(all);
  return bytes;
}

double touched_bytes(const Nest &nest, const Operand &operand) {
  constexpr std::int64_t kSector = 32; // bytes
  const nest::Slot &slot = slot_of(nest, operand);
  double elems = 1;
  for (const nest::Dim &dim : walked_dims(nest, operand)) {
    double points = 1;
    for (const IndexId i : nest.indices.ids())
      points *= dim.at.coeff[i] == 0 ? 1 : static_cast<double>(extent(nest, i));
    const bool is_near = dim.stride * size_bytes(slot.type) < kSector;
    const auto size = static_cast<double>(dim.size);
    elems *= is_near && points > 1 ? size : std::min(points, size);
  }
  return std::min(elems, static_cast<double>(slot.elems)) *
         static_cast<double>(size_bytes(slot.type));
}

double touched_bytes(const Nest &nest) {
  std::vector<double> most(nest.slots.size(), 0);
  raise_to_touched(nest, [&](nest::SlotId slot) -> double & { return most[at(slot)]; });
  return std::accumulate(most.begin(), most.end(), 0.0);
}

std::map<poly::SlotId, double> touched_by_slot(const poly::Group &group) {
  std::map<poly::SlotId, double> most;
  for (const poly::MemberId m : members(group))
    raise_to_touched(member_nest(group, m), [&](nest::SlotId slot) -> double & {
      return most[group_slot(group, m, slot)];
    });
  std::erase_if(most, [&](const auto &each) { return is_internal(group, each.first); });
  return most;
}

double touched_bytes(const poly::Group &group) {
  double bytes = 0;
  for (const auto &[slot, touched] : touched_by_slot(group))
    bytes += touched;
  return bytes;
}

std::int64_t lines_in_a_set(const Stream &stream, const Schedule &schedule, int outputs,
                            std::int64_t way_bytes) {
  const auto line_bytes = static_cast<std::int64_t>(stream.line_bytes);
  std::vector<std::int64_t> lines = {0};
  const auto repeat = [&](std::int64_t count, std::int64_t elements) {
    const auto bytes =
        static_cast<std::int64_t>(static_cast<double>(std::llabs(elements)) * stream.elem_bytes);
    const std::size_t had = lines.size();
    for (std::int64_t n = 1; n < count && bytes >= line_bytes; ++n)
      for (std::size_t i = 0; i < had; ++i)
        lines.push_back(lines[i] + n * (bytes / line_bytes));
  };
  bool is_body = true;
  for (auto i = schedule.order.rbegin(); i != schedule.order.rend(); ++i) {
    const schedule::Split &split = schedule.splits[*i];
    const bool is_output = to_int(*i) < outputs;
    if (is_output || is_body)
      repeat(split.keep, stream.stride(*i) * split.copy_stride());
    is_body = is_body && !is_output && split.step() >= split.tile;
  }
  if (lines.size() == 1)
    return 1;
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::vector<std::int64_t> taken(static_cast<std::size_t>(way_bytes / line_bytes), 0);
  std::int64_t most = 0;
  for (const std::int64_t line : lines)
    most = std::max(most, ++taken[static_cast<std::size_t>(line) % taken.size()]);
  return most;
}

Traffic::Traffic(const std::vector<Stream> &streams, Spans spans, const Cache &cache)
    : streams_(streams), spans_(std::move(spans)), cache_(cache), fits_(streams.size()) {
  touched_.reserve(streams.size());
  moved_.reserve(streams.size());
  for (const Stream &stream : streams) {
    touched_.push_back(stream.piece(spans_));
    moved_.push_back(touched_.back().bytes());
  }
}

// Bytes of the cache that a stream keeps from others.
double Traffic::crowded(std::size_t k) const {
  const double crowding = streams_[k].crowding(spans_, touched_[k], cache_.way_bytes);
  return touched_[k].bytes() * (crowding - 1);
}

void Traffic::add(const LoopTrips &loop) {
  double all = 0;
  for (const Stream::Piece &piece : touched_)
    all += piece.bytes();
  for (std::size_t k = 0; k < streams_.size(); ++k)
    fits_[k] = all <= cache_.bytes && all + crowded(k) <= cache_.bytes;
  spans_[loop.index] *= loop.trips;
  for (std::size_t k = 0; k < streams_.size(); ++k) {
    const double had = touched_[k].bytes();
    if (streams_[k].uses(loop.index))
      touched_[k] = streams_[k].piece(spans_);
    moved_[k] *= fits_[k] ? touched_[k].bytes() / had : loop.trips;
  }
}

void Traffic::add(const std::vector<LoopTrips> &loops) {
  for (const LoopTrips &loop : loops)
    add(loop);
}

std::vector<double> traffic(const std::vector<Stream> &streams, const Spans &spans,
                            const std::vector<LoopTrips> &loops, const Cache &cache) {
  Traffic traffic(streams, spans, cache);
  traffic.add(loops);
  return traffic.moved();
}

} // namespace tilefuse::cost
