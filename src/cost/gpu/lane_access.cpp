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

// Elements between neighbours of an index.
std::int64_t stride_of(const std::vector<nest::Dim> &dims, IndexId index) {
  std::int64_t stride = 0;
  for (const nest::Dim &dim : dims)
    stride += dim.at.coeff[index] * dim.stride;
  return stride;
}

// What takes the dimensions of an operand in place.
template <typename Use>
auto in_place(const Nest &nest, const nest::Operand &operand, const Use &use) {
  const bool is_plain = std::none_of(operand.dims.begin(), operand.dims.end(),
                                     [](const nest::Dim &dim) { return dim.by.has_value(); });
  return is_plain ? use(operand.dims) : use(walked_dims(nest, operand));
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

constexpr std::size_t kOthers = 8; // numbers that are no digit's

// All that an access depends on as numbers, less its digits.
void put_numbers(const Lanes &lanes, std::vector<std::int64_t> &numbers) {
  numbers.assign({lanes.count, lanes.vector.width, lanes.vector.stride, lanes.vector.elem,
                  lanes.vector.apart, lanes.warp, lanes.banks, lanes.sector_bytes});
}

// The digits of a work-item's number, the fastest first.
template <typename StrideOf>
void put_digits(const Schedule &schedule, const StrideOf &stride, std::int64_t elem,
                std::vector<std::int64_t> &numbers) {
  const auto put = [&](IndexId i, std::int64_t count, std::int64_t weight) {
    numbers.push_back(count);
    numbers.push_back(stride(i) * weight * schedule.splits[i].lane_stride() * elem);
  };
  const std::vector<schedule::LanePart> &parts = schedule.lane_parts;
  if (const std::optional<IndexId> only = lane_index(schedule); only && parts.empty())
    put(*only, schedule.splits[*only].lane, 1);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    std::int64_t weight = 1; // of the faster parts of the same index
    for (auto faster = parts.rbegin(); faster != part; ++faster)
      weight *= faster->index == part->index ? faster->count : 1;
    put(part->index, part->count, weight);
  }
}

// With the digits that follow the other numbers.
LaneAccess counted(Lanes lanes, const std::vector<std::int64_t> &numbers) {
  for (std::size_t d = kOthers; d < numbers.size(); d += 2)
    lanes.digits.push_back({numbers[d], numbers[d + 1]});
  return counted(lanes);
}

// Of an operand in memory, of which all indices but the vector's move the first element.
std::int64_t bytes_apart(const LaneView &view, const nest::Operand &operand,
                         const std::vector<nest::Dim> &dims) {
  const std::optional<IndexId> vector = vector_index(view.schedule);
  std::int64_t apart = operand.offset;
  for (const IndexId i : view.nest.indices.ids())
    if (i != vector && extent(view.nest, i) > 1)
      apart = std::gcd(apart, stride_of(dims, i));
  return apart * size_bytes(type_of(view.nest, operand));
}

// What is read or written, besides how it lies.
struct Accessed {
  std::int64_t elem = 4; // bytes
  std::int64_t near = 1;
  std::int64_t apart = 0;
  std::int64_t sector_bytes = 0;
};

template <typename StrideOf>
LaneAccess access(const LaneView &view, const StrideOf &stride, const Accessed &accessed) {
  const Schedule &schedule = view.schedule;
  Lanes lanes{.count = group_size(schedule),
              .vector = {.width = accessed.near, .elem = accessed.elem},
              .warp = std::max(1, view.target.warp),
              .banks = view.target.local_banks,
              .sector_bytes = accessed.sector_bytes};
  if (const auto index = vector_index(schedule); index)
    if (const std::int64_t apart = stride(*index); apart != 0)
      lanes.vector = {schedule.splits[*index].vec, apart, accessed.elem, accessed.apart};
  auto &[found, numbers] = view.counts;
  put_numbers(lanes, numbers);
  put_digits(schedule, stride, accessed.elem, numbers);
  const auto known = found.find(numbers);
  return known != found.end()
             ? known->second
             : found.emplace(numbers, counted(std::move(lanes), numbers)).first->second;
}

// Of an input as the arithmetic reads it: staged, packed or in place.
LaneAccess access_as_read(const LaneView &view, int input, const InputPlace &place,
                          const Accessed &accessed) {
  const schedule::Fill fill = view.schedule.fills[at(input)];
  const std::vector<nest::Dim> &source = place.source.dims;
  const auto staged = [&](IndexId i) {
    std::int64_t stride = 0;
    for (const schedule::StageDim &stage : place.tile.dims)
      stride += source[at(stage.dim)].at.coeff[i] * stage.stride;
    return stride;
  };
  const auto along = [&](const std::vector<nest::Dim> &dims) {
    return access(
        view, [&](IndexId i) { return stride_of(dims, i); }, accessed);
  };
  if (is_staged(fill))
    return access(view, staged, accessed);
  return fill == schedule::Fill::Direct ? in_place(view.nest, view.nest.inputs[at(input)], along)
                                        : along(source);
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
  return access_as_read(view, input, place,
                        {.elem = size_bytes(read_type(view.nest, view.schedule, input)),
                         .near = near,
                         .sector_bytes = view.target.sector_bytes});
}

LaneAccess input_access_by(const LaneView &view, int input, const InputPlace &place,
                           std::int64_t sector_bytes) {
  return access_as_read(view, input, place,
                        {.elem = size_bytes(read_type(view.nest, view.schedule, input)),
                         .sector_bytes = sector_bytes});
}

LaneAccess operand_access(const LaneView &view, const nest::Operand &operand, std::int64_t near) {
  return in_place(view.nest, operand, [&](const std::vector<nest::Dim> &dims) {
    return access(view, [&](IndexId i) { return stride_of(dims, i); },
                  {.elem = size_bytes(type_of(view.nest, operand)),
                   .near = near,
                   .apart = near == 1 ? bytes_apart(view, operand, dims) : 0,
                   .sector_bytes = view.target.sector_bytes});
  });
}

std::int64_t copied_bytes(const Nest &nest, const Schedule &schedule, int input) {
  return size_bytes(is_packed(schedule.fills[at(input)])
                        ? schedule::held_type(nest, schedule, input)
                        : slot_of(nest, nest.inputs[at(input)]).type);
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
  const std::int64_t elem = copied_bytes(nest, schedule, input);
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
