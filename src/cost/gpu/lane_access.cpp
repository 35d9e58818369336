// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/lane_access.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

#include "base/index.h"
#include "cost/footprint.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::cost {
namespace {

using nest::Nest;
using schedule::Schedule;

constexpr std::int64_t kWord = 4;
constexpr std::int64_t kMaxRequest = 16;

using nest::IndexId;

using Strides = Indexed<IndexId, std::int64_t>; // elements between neighbours

Strides in_place(const Nest &nest, const nest::Operand &operand) {
  Strides strides(nest.indices.size(), 0);
  for (const nest::Dim &dim : walked_dims(nest, operand))
    for (const IndexId i : strides.ids())
      strides[i] += dim.at.coeff[i] * dim.stride;
  return strides;
}

// Of an input as the arithmetic reads it: staged, packed or in place.
Strides as_read(const Nest &nest, const Schedule &schedule, int input, const InputPlace &place) {
  if (schedule.fills[at(input)] == schedule::Fill::Direct)
    return in_place(nest, nest.inputs[at(input)]);
  Strides strides(nest.indices.size(), 0);
  const auto add = [&](const nest::Dim &dim, std::int64_t stride) {
    for (const IndexId i : strides.ids())
      strides[i] += dim.at.coeff[i] * stride;
  };
  if (is_staged(schedule.fills[at(input)]))
    for (const schedule::StageDim &stage : place.tile.dims)
      add(place.source.dims[at(stage.dim)], stage.stride);
  else
    for (const nest::Dim &dim : place.source.dims)
      add(dim, dim.stride);
  return strides;
}

// A digit of a work-item's number.
struct Digit {
  std::int64_t values = 1;
  std::int64_t step = 0; // bytes from one value to the next
};

// `width` neighbours of `stride` elements per work-item.
struct Vector {
  std::int64_t width = 1;
  std::int64_t stride = 1;
  std::int64_t elem = 4;  // bytes
  std::int64_t apart = 0; // bytes of which what else moves it is a multiple; 0: as lanes are
};

// All that an access depends on.
struct Lanes {
  std::int64_t count = 1;
  std::vector<Digit> digits; // the fastest first
  Vector vector;
  std::int64_t warp = 1;
  std::int64_t banks = 0;
  std::int64_t sector_bytes = 0;
};

std::vector<Digit> digits_of(const Schedule &schedule, const Strides &strides, std::int64_t elem) {
  std::vector<Digit> digits;
  Indexed<IndexId, std::int64_t> weight(schedule.splits.size(), 1);
  const std::vector<schedule::LanePart> parts = lane_digits(schedule);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const IndexId i = part->index;
    digits.push_back(
        {part->count, strides[i] * weight[i] * schedule.splits[i].lane_stride() * elem});
    weight[i] *= part->count;
  }
  return digits;
}

// The first byte of every work-item, less the lowest.
std::vector<std::int64_t> addresses_of(const Lanes &lanes) {
  std::vector<std::int64_t> addresses(static_cast<std::size_t>(lanes.count), 0);
  std::int64_t below = 1; // work-items of the digits before
  for (const Digit &part : lanes.digits) {
    std::int64_t beside = 0; // of the digit's value
    std::int64_t digit = 0;
    for (std::int64_t &address : addresses) {
      address += digit * part.step;
      if (++beside < below)
        continue;
      beside = 0;
      digit = digit + 1 == part.values ? 0 : digit + 1;
    }
    below *= part.values;
  }
  const std::int64_t lowest = *std::min_element(addresses.begin(), addresses.end());
  for (std::int64_t &address : addresses)
    address -= lowest;
  return addresses;
}

// Leaves them sorted, as they mostly come.
std::int64_t distinct(std::vector<std::int64_t> &values) {
  if (!std::is_sorted(values.begin(), values.end()))
    std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return static_cast<std::int64_t>(values.size());
}

// Most distinct words of one bank.
std::int64_t wavefronts(std::vector<std::int64_t> &words, std::int64_t banks,
                        std::vector<std::int64_t> &of_bank) {
  distinct(words);
  of_bank.assign(static_cast<std::size_t>(banks), 0);
  for (const std::int64_t word : words)
    ++of_bank[at(word % banks)];
  return *std::max_element(of_bank.begin(), of_bank.end());
}

// Every multiple of `unit` that the pieces of the lanes [begin, end) touch, over unit.
void touch(const std::vector<std::int64_t> &addresses, std::size_t begin, std::size_t end,
           std::int64_t piece, std::int64_t unit, std::vector<std::int64_t> &units) {
  units.clear();
  for (std::size_t lane = begin; lane < std::min(end, addresses.size()); ++lane)
    for (std::int64_t u = addresses[lane] / unit; u * unit < addresses[lane] + piece; ++u)
      units.push_back(u);
}

// The widest piece up to 16 bytes that divides every vector and its address.
std::int64_t piece_bytes(const Vector &vector, const std::vector<std::int64_t> &addresses) {
  std::int64_t all = vector.stride == 1 ? vector.width * vector.elem : vector.elem;
  all = std::gcd(all, vector.apart);
  for (const std::int64_t address : addresses)
    all = std::gcd(all, address);
  std::int64_t piece = vector.elem;
  while (piece < kMaxRequest && all % (2 * piece) == 0)
    piece *= 2;
  return piece;
}

LaneAccess counted(const Lanes &lanes) {
  const std::vector<std::int64_t> addresses = addresses_of(lanes);
  const std::int64_t piece = piece_bytes(lanes.vector, addresses);
  const auto warp = static_cast<std::size_t>(lanes.warp);
  const std::int64_t banks = lanes.banks;
  const std::int64_t at_once = banks * kWord / std::max(kWord, piece);
  const std::size_t phase = banks > 0 ? static_cast<std::size_t>(at_once) : warp;
  LaneAccess sum;
  std::vector<std::int64_t> units, of_bank;
  for (std::size_t first = 0; first < addresses.size(); first += warp) {
    const std::size_t end = std::min(first + warp, addresses.size());
    touch(addresses, first, end, piece, lanes.sector_bytes, units);
    sum.requests += 1;
    sum.sectors += static_cast<double>(distinct(units));
    for (std::size_t part = first; part < end; part += phase) {
      touch(addresses, part, std::min(part + phase, end), piece, kWord, units);
      sum.phases += 1;
      sum.wavefronts += banks > 0 ? static_cast<double>(wavefronts(units, banks, of_bank)) : 1;
    }
  }
  const double pieces = static_cast<double>(lanes.vector.width * lanes.vector.elem / piece);
  return {pieces * sum.requests, pieces * sum.phases, pieces * sum.wavefronts,
          pieces * sum.sectors};
}

// All numbers that an access depends on.
std::vector<std::int64_t> key_of(const Lanes &lanes) {
  std::vector<std::int64_t> key = {lanes.count,       lanes.vector.width, lanes.vector.stride,
                                   lanes.vector.elem, lanes.vector.apart, lanes.warp,
                                   lanes.banks,       lanes.sector_bytes};
  for (const Digit &digit : lanes.digits)
    key.insert(key.end(), {digit.values, digit.step});
  return key;
}

// Of an operand in memory, of which all indices but the vector's move the first element.
std::int64_t bytes_apart(const LaneView &view, const nest::Operand &operand) {
  const std::optional<IndexId> vector = vector_index(view.schedule);
  const Strides strides = in_place(view.nest, operand);
  std::int64_t apart = operand.offset;
  for (const IndexId i : strides.ids())
    if (i != vector && extent(view.nest, i) > 1)
      apart = std::gcd(apart, strides[i]);
  return apart * size_bytes(type_of(view.nest, operand));
}

LaneAccess access(const LaneView &view, const Strides &strides, std::int64_t elem,
                  std::int64_t near, std::int64_t apart = 0) {
  const Schedule &schedule = view.schedule;
  Lanes lanes{.count = group_size(schedule),
              .digits = digits_of(schedule, strides, elem),
              .vector = {.width = near, .elem = elem},
              .warp = std::max(1, view.target.warp),
              .banks = view.target.local_banks,
              .sector_bytes = view.target.sector_bytes};
  if (const auto index = vector_index(schedule); index && strides[*index] != 0)
    lanes.vector = {schedule.splits[*index].vec, strides[*index], elem, apart};
  const auto [found, is_new] = view.counts.try_emplace(key_of(lanes));
  if (is_new)
    found->second = counted(lanes);
  return found->second;
}

} // namespace

std::size_t HashOfNumbers::operator()(const std::vector<std::int64_t> &numbers) const {
  constexpr std::size_t kPrime = 0x100000001b3;
  std::size_t hash = 0;
  for (const std::int64_t number : numbers)
    hash = (hash ^ static_cast<std::size_t>(number)) * kPrime;
  return hash;
}

DType read_type(const Nest &nest, const Schedule &schedule, int input) {
  const bool in_place = schedule.fills[at(input)] == schedule::Fill::Direct;
  return in_place ? slot_of(nest, nest.inputs[at(input)]).type
                  : schedule::held_type(nest, schedule, input);
}

LaneAccess input_access(const LaneView &view, int input, const InputPlace &place,
                        std::int64_t near) {
  const std::int64_t elem = size_bytes(read_type(view.nest, view.schedule, input));
  return access(view, as_read(view.nest, view.schedule, input, place), elem, near);
}

LaneAccess operand_access(const LaneView &view, const nest::Operand &operand, std::int64_t near) {
  const DType type = type_of(view.nest, operand);
  return access(view, in_place(view.nest, operand), size_bytes(type), near,
                near == 1 ? bytes_apart(view, operand) : 0);
}

// Rows without gaps, cut where a warp's request ends; a cut at any element reaches into one more
// sector than its bytes fill.
double copy_sectors(const LaneView &view, int input, const InputPlace &place) {
  const Nest &nest = view.nest;
  const Schedule &schedule = view.schedule;
  const Target &target = view.target;
  const auto &[source, tile] = place;
  std::int64_t elems = 1;
  std::int64_t row = 1;
  bool in_row = true;
  for (auto dim = tile.dims.rbegin(); dim != tile.dims.rend(); ++dim) {
    in_row = in_row && (dim->range == 1 || std::llabs(source.dims[at(dim->dim)].stride) == row);
    row *= in_row ? dim->range : 1;
    elems *= dim->range;
  }
  const bool is_packed_input = is_packed(schedule.fills[at(input)]);
  const nest::Slot &slot = slot_of(nest, nest.inputs[at(input)]);
  const std::int64_t elem =
      size_bytes(is_packed_input ? schedule::held_type(nest, schedule, input) : slot.type);
  const std::int64_t request = std::max(1, target.warp);
  const std::int64_t cuts = elems / row + elems / request - elems / std::lcm(row, request);
  bool is_aligned = row * elem % target.sector_bytes == 0;
  for (const schedule::StageDim &dim : tile.dims)
    if (const std::int64_t stride = std::llabs(source.dims[at(dim.dim)].stride); stride > 1)
      is_aligned = is_aligned && stride * elem % target.sector_bytes == 0;
  const double whole = static_cast<double>(elems * elem) / target.sector_bytes;
  const double more = is_aligned ? 0 : 1 - static_cast<double>(elem) / target.sector_bytes;
  return std::max(whole, 1.0) + static_cast<double>(std::max<std::int64_t>(1, cuts)) * more;
}

} // namespace tilefuse::cost
